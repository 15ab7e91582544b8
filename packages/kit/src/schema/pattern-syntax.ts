/** The steps of a pattern that are read together: an escape, a bracket, or one character. */
const STEP = /\\(?:[pP]\{[^}]*\}|[^])|\[\^?\]?|[^]/gu

/** Escapes that ECMAScript defines, by their first character. `RegExp` checks the rest of them. */
const DEFINED = /^\\[dDwWsSbBfnrtvcxupPk0-9]/
/** Escapes that mean the character itself: with the flag `u`, only these are valid. */
const SYNTAX = /^\\[\^$\\.*+?()[\]{}|/]$/
const LETTER = /^\\[\p{L}\p{N}]/u

const isDash = (step: string, inClass: boolean): boolean => step === '\\-' && inClass

/** Replaces the steps of a pattern. `inClass`: whether the step is between brackets. */
function replaceSteps(source: string, replace: (step: string, inClass: boolean) => string): string {
  let inClass = false
  return source.replace(STEP, (step) => {
    // `[]` and `[^]` are whole classes.
    if (step.startsWith('[') && !inClass) {
      inClass = !step.endsWith(']')
      return replace(step, false)
    }
    // Inside a class, a bracket is a character, and only `]` is special.
    if (step.startsWith('[')) return [...step].map((one) => {
      if (one === ']') inClass = false
      return replace(one, inClass)
    }).join('')
    if (step === ']') inClass = false
    return replace(step, inClass)
  })
}

const hexOf = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`

/**
 * A pattern in ECMAScript's syntax with the flag `u`. That flag makes an escaped `-` or `"` an error, but other
 * validators read it as the character, and so does this. Throws if the pattern is invalid.
 */
export function ecmaScriptPattern(source: string): string {
  const strict = replaceSteps(source, (step, inClass) => {
    if (!step.startsWith('\\') || step.length === 1) return step
    if (DEFINED.test(step) || SYNTAX.test(step) || isDash(step, inClass)) return step
    if (LETTER.test(step)) throw new Error(`ECMAScript does not define the escape ${step}`)
    return hexOf(step.slice(1))
  })
  void new RegExp(strict, 'u')
  return strict
}

/** White space as in ECMAScript: the library knows only that of ASCII. Between brackets, and all other characters. */
const SPACE = '\\u{9}-\\u{d}\\u{20}\\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}'
  + '\\u{3000}\\u{feff}'
const NO_SPACE = '\\u{0}-\\u{8}\\u{e}-\\u{1f}\\u{21}-\\u{9f}\\u{a1}-\\u{167f}\\u{1681}-\\u{1fff}\\u{200b}-\\u{2027}'
  + '\\u{202a}-\\u{202e}\\u{2030}-\\u{205e}\\u{2060}-\\u{2fff}\\u{3001}-\\u{fefe}\\u{ff00}-\\u{10ffff}'
const ANY = '\\u{0}-\\u{10ffff}'

/** Steps that mean something else to the library, outside of brackets and between them. */
const OUTSIDE: ReadonlyMap<string, string> = new Map([
  ['\\s', `[${SPACE}]`], ['\\S', `[${NO_SPACE}]`], ['.', '[^\\n\\r\\u{2028}\\u{2029}]'], ['[]', `[^${ANY}]`],
  ['[^]', `[${ANY}]`],
])
const INSIDE: ReadonlyMap<string, string> =
  new Map([['\\s', SPACE], ['\\S', NO_SPACE], ['\\b', '\\u{8}'], ['[', '\\[']])

/** ECMAScript's long category names. The library knows only the short ones. */
const CATEGORIES: Readonly<Record<string, string>> = {
  Letter: 'L', Cased_Letter: 'LC', Uppercase_Letter: 'Lu', Lowercase_Letter: 'Ll', Titlecase_Letter: 'Lt',
  Modifier_Letter: 'Lm', Other_Letter: 'Lo', Mark: 'M', Combining_Mark: 'M', Nonspacing_Mark: 'Mn',
  Spacing_Mark: 'Mc', Enclosing_Mark: 'Me', Number: 'N', Decimal_Number: 'Nd', digit: 'Nd', Letter_Number: 'Nl',
  Other_Number: 'No', Punctuation: 'P', punct: 'P', Connector_Punctuation: 'Pc', Dash_Punctuation: 'Pd',
  Open_Punctuation: 'Ps', Close_Punctuation: 'Pe', Initial_Punctuation: 'Pi', Final_Punctuation: 'Pf',
  Other_Punctuation: 'Po', Symbol: 'S', Math_Symbol: 'Sm', Currency_Symbol: 'Sc', Modifier_Symbol: 'Sk',
  Other_Symbol: 'So', Separator: 'Z', Space_Separator: 'Zs', Line_Separator: 'Zl', Paragraph_Separator: 'Zp',
  Other: 'C', Control: 'Cc', cntrl: 'Cc', Format: 'Cf', Surrogate: 'Cs', Private_Use: 'Co',
}
const PROPERTY = /^\\([pP])\{(?:(?:General_Category|gc|Script|sc)=)?([A-Za-z_]+)\}$/

const withShortName = (step: string): string =>
  step.replace(PROPERTY, (_, sign: string, name: string) => `\\${sign}{${CATEGORIES[name] ?? name}}`)

/** Modifiers that change `.`, `^` and `$`, for which the library knows other line ends. */
const MODIFIERS = /\(\?[i-]{0,2}[ms][ims-]{0,6}:/

/** The same pattern in the syntax that the library translates. Throws for one that it would read otherwise. */
export function linearPattern(strict: string): string {
  if (MODIFIERS.test(strict)) throw new Error('the modifiers m and s are not supported')
  return replaceSteps(strict, (step, inClass) => (inClass ? INSIDE : OUTSIDE).get(step) ?? withShortName(step))
}
