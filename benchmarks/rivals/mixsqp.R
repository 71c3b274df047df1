# Solve with mixsqp: Rscript mixsqp.R problem answer repeats setting=value ...
# problem: rows, columns (int32), the likelihood's rows by column and the weights (double).
# answer: theta (double). Prints the CPU seconds of a solve alone, the best of three rounds.
suppressMessages(library(mixsqp))
blas <- extSoftVersion()["BLAS"]
if (!grepl("openblas|mkl|blis|atlas", blas)) stop("R computes with the reference BLAS: ", blas)
arguments <- commandArgs(trailingOnly = TRUE)
problem <- file(arguments[1], "rb")
shape <- readBin(problem, "integer", 2)
rows <- matrix(readBin(problem, "double", prod(shape)), shape[1], shape[2])
weights <- readBin(problem, "double", shape[1])
close(problem)
repeats <- as.integer(arguments[3])
control <- list(verbose = FALSE)
for (setting in strsplit(arguments[-(1:3)], "=")) {
  control[[setting[1]]] <- as.numeric(setting[2])
}
processor <- function() sum(proc.time()[c("user.self", "sys.self")])
best <- Inf
for (round in 1:3) {
  start <- processor()
  for (run in seq_len(repeats)) solution <- mixsqp(rows, weights, control = control)
  best <- min(best, (processor() - start) / repeats)
}
cat(best, nrow(solution$progress), "\n")
answer <- file(arguments[2], "wb")
writeBin(as.double(solution$x), answer)
close(answer)
