import { isPlain, isVariadic, type Word } from '../parse/plan.ts'

/** The read-only options and operands of a program. All others are rejected. */
export interface OptionList {
  /** Options without a value. Single letters can be combined, unless `separate`. */
  readonly flags?: readonly string[]
  /** Options with a value in the same word or none, as in `-U5` and `--color=always`. The next word is no value. */
  readonly optional?: readonly string[]
  /** Options with a value, which is a string or a file. */
  readonly values?: Readonly<Record<string, 'text' | 'path'>>
  /** Letters are not combined. */
  readonly separate?: true
  /** Some versions may take the word after an option for an operand, so values are checked like operands. */
  readonly checksValues?: true
  /** `-5`, as in `head -5`. */
  readonly numbers?: boolean
  /** The kind of operands. `text-then-paths`: a string first, unless an option in `firstGivenBy` provides it. */
  readonly operands: 'paths' | 'texts' | 'none' | 'text-then-paths'
  readonly firstGivenBy?: readonly string[]
  readonly maxOperands?: number
  /** Every operand must be literal and match this. */
  readonly operandForm?: RegExp
  /** The program only prints, whatever its arguments are. */
  readonly anything?: true
}

export interface KnownUse {
  /** Files that the program reads. */
  readonly paths: readonly Word[]
  /** For `text-then-paths`: the strings before the paths. */
  readonly scripts?: readonly string[]
  /** The options with their values, and the other words, `--` included. */
  readonly split?: { readonly options: readonly Word[]; readonly rest: readonly Word[] }
}

/**
 * Matches arguments against a list. Undefined if they contain anything that is not in it, and if the value of an option
 * is a word that begins with `-`: a program that reads it otherwise would take it for an option.
 */
export function knownUse(args: readonly Word[], list: OptionList): KnownUse | undefined {
  if (list.anything === true) return { paths: [] }
  const read = readWords(args, list)
  if (read === undefined) return undefined
  const { options, operands, rest, paths, scripts } = read
  const { maxOperands, operandForm } = list
  // A word that expands to several words could exceed the limit.
  if (maxOperands !== undefined && (operands.length > maxOperands || operands.some(isVariadic))) return undefined
  if (operandForm !== undefined && !operands.every((word) => isPlain(word) && operandForm.test(word.text))) {
    return undefined
  }
  const split = { options, rest }
  switch (list.operands) {
    case 'none':
      return operands.length === 0 ? { paths, split } : undefined
    case 'texts':
      return { paths, split }
    case 'paths':
      return { paths: [...paths, ...operands], split }
    case 'text-then-paths': {
      if (scripts.length > 0) return { paths: [...paths, ...operands], scripts, split }
      const [first, ...others] = operands
      if (first !== undefined && !isPlain(first)) return undefined
      return { paths: [...paths, ...others], split, ...(first && { scripts: [first.text] }) }
    }
  }
}

interface ReadWords {
  readonly options: readonly Word[]
  readonly operands: readonly Word[]
  readonly rest: readonly Word[]
  /** Values that are files. */
  readonly paths: readonly Word[]
  /** Values of the options in `firstGivenBy`. */
  readonly scripts: readonly string[]
}

function readWords(args: readonly Word[], list: OptionList): ReadWords | undefined {
  const forms = formsOf(list)
  const [options, operands, paths]: [Word[], Word[], Word[]] = [[], [], []]
  const scripts: string[] = []
  for (let index = 0; index < args.length; index++) {
    const word = args[index]!
    const { text } = word
    if (text === '--' && isPlain(word) && forms.hasOptions) {
      const [after, rest] = [args.slice(index + 1), [...operands, ...args.slice(index)]]
      return { options, operands: [...operands, ...after], rest, paths, scripts }
    }
    if (!text.startsWith('-') || text === '-') {
      operands.push(word)
      continue
    }
    if (!isPlain(word)) return undefined
    options.push(word)
    if (list.numbers === true && /^-\d+$/.test(text)) continue
    const option = readOption(text, forms)
    if (option === undefined) return undefined
    const isFirst = option.names.some((name) => list.firstGivenBy?.includes(name) === true)
    if (option.takes === undefined) {
      if (isFirst) scripts.push('')
      continue
    }
    const isDetached = option.value === undefined
    const value = option.value === undefined ? args[++index] : { text: option.value }
    if (value === undefined || !isPlain(value) || (isDetached && value.text.startsWith('-'))) return undefined
    if (isDetached) options.push(value)
    if (option.takes === 'path' || (isDetached && list.checksValues === true)) paths.push(value)
    if (isFirst) scripts.push(value.text)
  }
  return { options, operands, rest: operands, paths, scripts }
}

interface Forms {
  readonly flags: ReadonlySet<string>
  readonly optional: ReadonlySet<string>
  readonly values: ReadonlyMap<string, 'text' | 'path'>
  readonly separate: boolean
  readonly hasOptions: boolean
}

function formsOf({ flags = [], optional = [], values = {}, separate, numbers = false }: OptionList): Forms {
  const named = new Map(Object.entries(values))
  const hasOptions = flags.length + optional.length + named.size > 0 || numbers
  return { flags: new Set(flags), optional: new Set(optional), values: named, separate: separate === true, hasOptions }
}

interface ReadOption {
  readonly names: readonly string[]
  readonly takes?: 'text' | 'path' | undefined
  /** A value in the same word, as in `-n5`. */
  readonly value?: string
}

function readOption(text: string, { flags, optional, values, separate }: Forms): ReadOption | undefined {
  if (flags.has(text) || optional.has(text)) return { names: [text] }
  if (values.has(text)) return { names: [text], takes: values.get(text) }
  if (text.startsWith('--')) {
    const [name, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]
    if (!text.includes('=')) return undefined
    if (values.has(name)) return { names: [name], takes: values.get(name), value }
    return optional.has(name) ? { names: [name] } : undefined
  }
  const names: string[] = []
  for (let at = 1; at < text.length; at++) {
    const name = `-${text[at]}`
    names.push(name)
    if (separate && at > 1) return undefined
    if (optional.has(name)) return { names }
    if (values.has(name)) {
      const rest = text.slice(at + 1)
      return { names, takes: values.get(name), ...(rest === '' ? {} : { value: rest }) }
    }
    if (!flags.has(name)) return undefined
  }
  return { names }
}
