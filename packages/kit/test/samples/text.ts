import fc from 'fast-check'

/**
 * Any code point, for `fc.string({ unit: anyCodePoint })`. `unit: 'binary'` has the same ones, and takes a second to
 * prepare.
 */
export const anyCodePoint = fc
  .nat(0x10_f7ff)
  .map((point) => String.fromCodePoint(point < 0xd800 ? point : point + 0x800))
