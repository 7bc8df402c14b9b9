"""Settings of Spark for tests: their jobs have few rows and spend nearly all of their time on starting and compiling.

They change how fast a query runs and not what it does. What users get is in `kafkalet.pipeline.session`.
"""

QUICK = {
    # C2, the optimizing compiler of the JVM, takes longer to compile than its code saves (37 % of all CPU time), and
    # there is too little garbage to share it out among threads.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # To interpret a query of few rows is faster than to generate Java code for it and compile that (6 %).
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Spark's default is 200 tasks for each shuffle.
    "spark.sql.shuffle.partitions": "4",
}
