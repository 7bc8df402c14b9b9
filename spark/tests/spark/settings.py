"""Spark settings for tests, whose jobs have few rows and spend most of their time on startup and compilation.

They affect only the speed of queries. The settings for users are in `kafkalet_spark.session`.
"""

QUICK = {
    # The optimizing compiler of the JVM (C2) takes longer than its code saves (37 % of all CPU time), and there is too
    # little garbage for parallel collection.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # For queries of few rows, interpreting is faster than generating and compiling Java code (6 %).
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Spark's default is 200 tasks per shuffle.
    "spark.sql.shuffle.partitions": "4",
}
