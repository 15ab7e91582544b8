import type { Stage, Target, Word } from '../reading/plan.ts'

/** A program's name may not look like the marks that keys begin with. */
const BARE_NAME = /^[\w.+/-]+$/
const BARE_WORD = /^[\w@%+=:,./-]+$/
const CONTROL = /[\p{Cc}\u2028\u2029]/u

/** One spelling for every way to write the same words: two that differ are never spelled alike. */
export function commandText(words: readonly Word[]): string {
  return words.map((word, index) => wordText(word, index === 0 ? BARE_NAME : BARE_WORD)).join(' ')
}

/** With all that is not in the words but decides what happens. */
export function stageText({ assignments, words, stdin, stdout, stderr }: Stage): string {
  return [
    ...assignments.map(([name, value]) => `${name}=${quoted(value, BARE_WORD)}`),
    commandText(words),
    ...(stdin === undefined ? [] : ['file' in stdin ? `< ${quoted(stdin.file, BARE_WORD)}` : `<<< ${quoted(stdin.text, BARE_WORD)}`]),
    ...targetText('>', stdout, 'out'),
    ...targetText('2>', stderr, 'err'),
  ].join(' ')
}

function targetText(operator: string, target: Target, usual: Target): readonly string[] {
  if (target === usual) return []
  if (typeof target === 'string') return [`${operator}${target === 'nothing' ? ' /dev/null' : target === 'out' ? '&1' : '&2'}`]
  return [`${target.append ? operator.replace('>', '>>') : operator} ${quoted(target.file, BARE_WORD)}`]
}

export const hasControls = (text: string): boolean => CONTROL.test(text)

export const pathText = (path: string): string => quoted(path, BARE_WORD)

function wordText({ text, pattern }: Word, bare: RegExp): string {
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
  const escaped = Array.from(text, (char) => char === '\\' || char === "'" ? `\\${char}` : CONTROL.test(char) ? codeOf(char) : char)
  return `$'${escaped.join('')}'`
}

const codeOf = (char: string): string => char === '\n' ? String.raw`\n` : char === '\t' ? String.raw`\t` : `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`
