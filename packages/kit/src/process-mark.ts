import { randomInt } from 'node:crypto'

/**
 * A resource limit of Linux. Children inherit it, `prlimit` can set it, and the kernel has not enforced it since 2.4.
 * A random value therefore marks a process and everything it starts, at no cost.
 */
export const MARK_LIMIT = 'Max file locks'
/** No administrator sets a value this high, and below 2^53 it is printed without rounding. */
const LEAST_MARK = 2 ** 40

export const newProcessMark = (): number => LEAST_MARK + randomInt(LEAST_MARK)

/** The option of `prlimit` that sets a mark. */
export const markOption = (mark: number): string => `--locks=${mark}`

/** `limits` is the content of /proc/PID/limits. */
export const hasProcessMark = (limits: string, mark: number): boolean =>
  limits.split('\n').some((line) => line.startsWith(MARK_LIMIT) && line.includes(` ${mark} `))

/** A process that has a mark cannot be given another one. */
export const isUnmarked = (limits: string): boolean => /^Max file locks +unlimited +unlimited /m.test(limits)
