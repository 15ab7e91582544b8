const HARMLESS = /^(?:NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|CI|LANG|LC_[A-Z]+|TZ|COLUMNS|LINES|TERM)$/
/** No path: some of these name files when they hold one. */
const PLAIN = /^[\w.:@+-]*$/

/** Whether a variable changes only how something looks. */
export const isHarmlessVariable = (name: string, value: string): boolean => HARMLESS.test(name) && PLAIN.test(value)
