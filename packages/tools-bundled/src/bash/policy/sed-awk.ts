import type { Word } from '../parse/plan.ts'
import { knownUse, type KnownUse, type OptionList } from './option-list.ts'

const SED: OptionList = {
  flags: ['-n', '-E', '-r', '-s', '-u', '-z', '--quiet', '--silent', '--regexp-extended'],
  values: { '-e': 'text', '--expression': 'text' },
  operands: 'text-then-paths',
  firstGivenBy: ['-e', '--expression'],
}

/** Undefined unless every command of its scripts prints, drops or changes lines: others read and write files and run programs. */
export function sedUse(args: readonly Word[]): KnownUse | undefined {
  const use = knownUse(args, SED)
  return use?.scripts !== undefined && use.scripts.every(isReadingScript) ? use : undefined
}

const LINE = /^(?:\d+(?:~\d+)?|\$)/
const PLAIN_COMMAND = /^(?:[pPdDnNgGhHxlz=]|[qQ] ?\d*)/
const FLAGS = /^[gpiImM0-9]*/

/** Commands one after another, each with its addresses; nothing is skipped that is not understood. */
export function isReadingScript(script: string): boolean {
  let rest = script
  while (rest !== '') {
    const command = afterAddresses(rest.replace(/^[\s;]+/, ''))
    if (command === undefined) return false
    const after = command === '' ? '' : afterCommand(command)
    if (after === undefined || !/^ *(?:$|[;\n])/.test(after)) return false
    rest = after.replace(/^ *[;\n]?/, '')
  }
  return true
}

function afterAddresses(text: string): string | undefined {
  const first = afterAddress(text)
  if (first === undefined) return undefined
  if (first === text) return first
  if (!first.startsWith(',')) return first.replace(/^ *!? */, '')
  const bound = first.slice(1)
  const second = /^[+~]\d+/.test(bound) ? bound.replace(/^[+~]\d+/, '') : afterAddress(bound)
  return second === undefined || second === bound ? undefined : second.replace(/^ *!? */, '')
}

/** The text behind an address; the same text where there is none. */
function afterAddress(text: string): string | undefined {
  const line = LINE.exec(text)
  if (line !== null) return text.slice(line[0].length)
  if (!text.startsWith('/')) return text
  const expression = upTo('/', text.slice(1))
  return expression && isPlainExpression(expression.part) ? expression.rest.replace(/^[IM]*/, '') : undefined
}

function afterCommand(text: string): string | undefined {
  const plain = PLAIN_COMMAND.exec(text)
  if (plain !== null) return text.slice(plain[0].length)
  const name = text[0]!
  const delimiter = text[1] ?? ''
  if ((name !== 's' && name !== 'y') || !/^[/|#,:@!%+]$/.test(delimiter)) return undefined
  const expression = upTo(delimiter, text.slice(2))
  const replacement = expression && isPlainExpression(expression.part) ? upTo(delimiter, expression.rest) : undefined
  return name === 's' ? replacement?.rest.replace(FLAGS, '') : replacement?.rest
}

/** What stands before the next unescaped delimiter, and behind it. */
function upTo(delimiter: string, text: string): { readonly part: string; readonly rest: string } | undefined {
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\n') return undefined
    if (text[index] === '\\') index++
    else if (text[index] === delimiter) return { part: text.slice(0, index), rest: text.slice(index + 1) }
  }
  return undefined
}

/** Inside of brackets a delimiter is a character: only brackets that are whole before it are read alike by everybody. */
const isPlainExpression = (part: string): boolean =>
  !part.replaceAll(/\\[^]/g, '').replaceAll(/\[\^?(?:\[:[a-z]+:\]|[^[\]])+\]/g, '').includes('[')

const AWK: OptionList = { values: { '-F': 'text', '-v': 'text' }, operands: 'text-then-paths' }

/** Words by which a program of its language runs others, reads or writes files, or names other files to read. */
const EFFECTS = /\b(?:system|getline|close|ARGV|ARGC|ARGIND|PROCINFO|SYMTAB|FUNCTAB|extension)\b/
/** Other code, indirect calls, and a line that goes on in the next one. */
const ODD = /@|\\\n|\r/

/** Undefined unless its program only computes and prints. */
export function awkUse(args: readonly Word[]): KnownUse | undefined {
  const use = knownUse(args, AWK)
  return use?.scripts !== undefined && use.scripts.every(isReadingProgram) ? use : undefined
}

/**
 * Judged by its characters, also those in its texts: too much is refused rather than too little. Output goes elsewhere by `>`
 * and `|` inside of braces only; before the first brace these compare, or stand in a regular expression.
 */
export function isReadingProgram(program: string): boolean {
  const brace = program.indexOf('{')
  const actions = brace < 0 ? '' : program.slice(brace).replaceAll('||', '').replaceAll('>=', '')
  return !EFFECTS.test(program) && !ODD.test(program) && !/[>|]/.test(actions)
}
