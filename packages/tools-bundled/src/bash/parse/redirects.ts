import type { HereDoc, Redirection, Word as WordNode } from 'unbash'
import { NeedsShell, type Source, type Stage, type Target } from './plan.ts'
import { readWord } from './words.ts'

export type Streams = Pick<Stage, 'stdout' | 'stderr'> & { readonly stdin?: Source }

/** Redirects stdout and stderr to the same file. */
const BOTH: ReadonlySet<string> = new Set(['&>', '&>>'])
/** After `>&`: a file descriptor instead of a file. */
const DESCRIPTOR = /^(?:\d+-?|-)$/

/** Applies redirections from left to right, as a shell does. Throws NeedsShell. */
export function readRedirects(redirects: readonly Redirection[]): Streams {
  let stdin: Source | undefined
  let stdout: Target = 'out'
  let stderr: Target = 'err'
  for (const redirect of redirects) {
    const descriptor = descriptorOf(redirect)
    if (redirect.type === 'HereDoc' || redirect.type === 'HereString') {
      if (descriptor !== undefined && descriptor !== 0) throw new NeedsShell(`input for file descriptor ${descriptor}`)
      stdin = { text: redirect.type === 'HereDoc' ? hereText(redirect) : `${plainText(redirect.target)}\n` }
      continue
    }
    const { operator } = redirect
    const path = plainText(redirect.target)
    // Before another redirection, a number is its descriptor. Parsers differ here.
    if (operator !== '>&' && /^\d+$/.test(redirect.target?.text ?? '')) {
      throw new NeedsShell('a redirection to a file whose name is a number')
    }
    if (operator === '<') {
      if (descriptor !== undefined && descriptor !== 0) throw new NeedsShell(`input for file descriptor ${descriptor}`)
      stdin = path === '/dev/null' ? { text: '' } : { file: path }
    } else if (BOTH.has(operator) || (operator === '>&' && descriptor === undefined && !DESCRIPTOR.test(path))) {
      stdout = fileTarget(path, operator === '&>>')
      stderr = stdout
    } else if (operator === '>' || operator === '>>' || operator === '>|') {
      const target = fileTarget(path, operator === '>>')
      if (descriptor === undefined || descriptor === 1) stdout = target
      else if (descriptor === 2) stderr = target
      else throw new NeedsShell(`output of file descriptor ${descriptor}`)
    } else if (operator === '>&' && (path === '1' || path === '2')) {
      const target: Target = path === '1' ? stdout : stderr
      if (descriptor === undefined || descriptor === 1) stdout = target
      else if (descriptor === 2) stderr = target
      else throw new NeedsShell(`output of file descriptor ${descriptor}`)
    } else {
      throw new NeedsShell(`the redirection ${operator}${path}`)
    }
  }
  return stdin === undefined ? { stdout, stderr } : { stdin, stdout, stderr }
}

function fileTarget(path: string, append: boolean): Target {
  if (path === '') throw new NeedsShell('a redirection to an empty file name')
  return path === '/dev/null' ? 'nothing' : { file: path, append }
}

function descriptorOf({ descriptor }: Redirection): number | undefined {
  if (descriptor?.type === 'FileDescriptorVariable') throw new NeedsShell('a file descriptor in a variable')
  return descriptor?.value
}

function plainText(node: WordNode | undefined): string {
  if (node === undefined) throw new NeedsShell('a redirection without a target')
  const { text, pattern } = readWord(node)
  if (pattern !== undefined) throw new NeedsShell('a redirection to a pattern')
  return text
}

function hereText({ operator, delimiter, body, closing }: HereDoc): string {
  if (closing === undefined) throw new NeedsShell('a here-document without an end')
  const { text, parts } = body
  // If the delimiter is unquoted, the shell removes some backslashes.
  if (delimiter?.quoted !== true && (parts?.some(({ type }) => type !== 'Literal') === true || /[\\$`]/.test(text))) {
    throw new NeedsShell('a here-document with expansions')
  }
  return operator === '<<-' ? text.replaceAll(/^\t+/gm, '') : text
}
