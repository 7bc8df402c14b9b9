"""Reports: the results of a run as tables, JSON, JUnit XML and HTML, and the comparison of two runs.

values         values and answers as lines for people, with the names of error codes
summary        the counts by area, API and version
terminal       what the command prints
json_report    all results as JSON, and back
junit_report   a test case for each answer
html_report    one page for a browser (page.html is its template)
comparison     what changed between two runs
files          writes the files
"""
