import { parseCommand } from '../parse/parse-command.ts'
import type { Stage, Target, Word } from '../parse/plan.ts'
import { destructionReason, type Findings } from './findings.ts'
import { baseName, unwrap } from './wrappers.ts'

/** Excludes brackets, because keys can start with a mark such as `[shell]`. */
const BARE_NAME = /^[\w.+/-]+$/
const BARE_WORD = /^[\w@%+=:,./-]+$/
const CONTROL = /[\p{Cc}\u2028\u2029]/u

/** The canonical text of a command. Different commands never have the same text. */
export function commandText(words: readonly Word[]): string {
  return words.map((word, index) => wordText(word, index === 0 ? BARE_NAME : BARE_WORD)).join(' ')
}

/** Includes variables and input, which also determine what the command does. Excludes where its output goes. */
export function inputText({ assignments, words, stdin }: Stage, piped = false): string {
  return [
    ...assignments.map(([name, value]) => `${name}=${pathText(value)}`),
    commandText(words),
    ...(stdin === undefined ? [] : 'file' in stdin ? ['<', pathText(stdin.file)] : ['<<<', pathText(stdin.text)]),
    ...(piped ? ['<|'] : []),
  ].join(' ')
}

export const stageText = (stage: Stage): string =>
  [inputText(stage), ...targetText('>', stage.stdout, 'out'), ...targetText('2>', stage.stderr, 'err')].join(' ')

function targetText(operator: string, target: Target, usual: Target): readonly string[] {
  if (target === usual) return []
  if (typeof target === 'string') {
    return [`${operator}${target === 'nothing' ? ' /dev/null' : target === 'out' ? '&1' : '&2'}`]
  }
  return [`${target.append ? operator.replace('>', '>>') : operator} ${pathText(target.file)}`]
}

export const hasControls = (text: string): boolean => CONTROL.test(text)

export const pathText = (path: string): string => quoted(path, BARE_WORD)

function wordText({ text, pattern, isSource }: Word, bare: RegExp): string {
  // The source is unambiguous, because all other words with such characters are quoted.
  if (isSource !== undefined) return hasControls(text) ? quoted(text, bare) : text
  if (pattern === undefined) return quoted(text, bare)
  return pattern.map((part) => {
    switch (part.kind) {
      case 'text':
        return part.text === '' ? '' : quoted(part.text, bare)
      case 'star':
        return '*'
      case 'any':
        return '?'
      case 'set':
        return `[${part.negated ? '!' : ''}${part.chars}]`
    }
  }).join('')
}

function quoted(text: string, bare: RegExp): string {
  if (bare.test(text)) return text
  if (!CONTROL.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  return `$'${Array.from(text, escaped).join('')}'`
}

function escaped(char: string): string {
  if (char === '\\' || char === "'") return `\\${char}`
  if (char === '\n') return String.raw`\n`
  if (char === '\t') return String.raw`\t`
  return CONTROL.test(char) ? `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}` : char
}

const MAX_DEPTH = 8

/**
 * All names that rules match a command by: its own text, its text with the bare program name, and the names of all
 * commands that it runs. Adds destructive commands, and commands that cannot be determined, to the findings.
 */
export function commandNames(words: readonly Word[], findings: Findings, depth = 0): readonly string[] {
  if (depth > MAX_DEPTH || !findings.countCommand()) {
    findings.ask('it contains too many nested commands', true)
    return []
  }
  const [program, ...args] = words
  const destruction = destructionReason(words)
  if (destruction !== undefined) findings.deny(destruction)
  const bare = baseName(program?.text ?? '')
  const names = [commandText(words), ...(bare === program?.text ? [] : [commandText([{ text: bare }, ...args])])]
  const wrapped = unwrap(words)
  if (wrapped === undefined) return names
  if (wrapped.unread !== undefined) findings.ask(`cannot determine what it runs: ${wrapped.unread}`, true)
  return [
    ...names,
    ...wrapped.inner.flatMap((inner) => commandNames(inner.words, findings, depth + 1)),
    ...wrapped.scripts.flatMap((script) => scriptNames(script, findings, depth + 1)),
  ]
}

/** The names of all commands in a shell script. */
function scriptNames(script: string, findings: Findings, depth = 0): readonly string[] {
  if (script.trim() === '') return []
  const parsed = parseCommand(script)
  findings.ask('it passes a script to a shell')
  switch (parsed.kind) {
    case 'unread':
      findings.ask(`cannot determine what the shell would run: ${parsed.why}`, true)
      return [script, ...possibleCommands(script)]
    default:
      return [script, ...parsed.parts.commands.flatMap(({ words }) => commandNames(words, findings, depth + 1))]
  }
}

const MAX_STARTS = 200

/** Every suffix of a script that cannot be parsed, since a command may start at any word. Used for deny rules only. */
export const possibleCommands = (text: string): readonly string[] =>
  Array.from(text.matchAll(/[\w./+-]+/g).take(MAX_STARTS), ({ index }) => text.slice(index))
