"""Reports: the results of a run as tables, JSON, JUnit XML and HTML, and the comparison of two runs.

values         values and responses as readable lines, with the names of error codes
summary        the counts by area, API and version
terminal       the results as the command prints them
json_report    all results as JSON, and back
junit_report   a test case for each response
html_report    one page for a browser (page.html is its template)
bounding       cuts results that are too large for a report
comparison     the changes between two runs
files          writes the files
"""
