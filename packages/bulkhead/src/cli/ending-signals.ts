/** By these a command is asked to end: what it runs is ended first. A second one ends it at once. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
