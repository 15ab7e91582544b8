const HARMLESS = /^(?:NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|CI|LANG|LANGUAGE|LC_[A-Z]+|TZ|COLUMNS|LINES|TERM)$/

/** Whether a variable changes only how something looks. */
export const isHarmlessVariable = (name: string): boolean => HARMLESS.test(name)
