import type { Stage, Target, Word } from '../parse/plan.ts'

/** A program's name may not look like the marks that keys begin with. */
const BARE_NAME = /^[\w.+/-]+$/
const BARE_WORD = /^[\w@%+=:,./-]+$/
const CONTROL = /[\p{Cc}\u2028\u2029]/u

/** One spelling for every way to write the same words: two that differ are never spelled alike. */
export function commandText(words: readonly Word[]): string {
  return words.map((word, index) => wordText(word, index === 0 ? BARE_NAME : BARE_WORD)).join(' ')
}

export const wordsText = (words: readonly Word[]): string => words.map((word) => wordText(word, BARE_WORD)).join(' ')

/** With all that is not in the words but decides what the command does; where its output goes is another matter. */
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
  if (typeof target === 'string') return [`${operator}${target === 'nothing' ? ' /dev/null' : target === 'out' ? '&1' : '&2'}`]
  return [`${target.append ? operator.replace('>', '>>') : operator} ${pathText(target.file)}`]
}

export const hasControls = (text: string): boolean => CONTROL.test(text)

export const pathText = (path: string): string => quoted(path, BARE_WORD)

function wordText({ text, pattern, made }: Word, bare: RegExp): string {
  // Its source: every other word with such characters is quoted.
  if (made !== undefined) return hasControls(text) ? quoted(text, bare) : text
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
