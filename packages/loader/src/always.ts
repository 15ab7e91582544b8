/** Holds nothing but the value. A function made where a package is at hand would hold its bytes as well. */
export const always = <T>(value: T) => (): T => value
