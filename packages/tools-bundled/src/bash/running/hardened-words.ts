import { hardenedFind } from '../judging/find.ts'
import { hardenedGit } from '../judging/git.ts'
import { innermost } from '../judging/judge-words.ts'
import type { Word } from '../reading/plan.ts'

/** The names in the configuration of the repository here. */
export type ConfigNames = () => Promise<readonly string[]>

/** A program that only reads shall not be made to do more by what it reads, nor be led out of the workspace by a link. */
export async function hardenedWords(words: readonly Word[], configNames: ConfigNames): Promise<readonly Word[]> {
  const inner = innermost(words)
  return [...words.slice(0, words.length - inner.length), ...await hardened(inner, configNames)]
}

async function hardened(inner: readonly Word[], configNames: ConfigNames): Promise<readonly Word[]> {
  const [program, ...args] = inner
  switch (program!.text) {
    case 'git':
      return hardenedGit(inner, await configNames())
    case 'find':
      return hardenedFind(inner)
    case 'diff':
      return [program!, { text: '--no-dereference' }, ...args]
    default:
      return inner
  }
}

const BUILTINS: ReadonlySet<string> = new Set(['command', 'type', 'help', 'history'])

/** What only a shell has under this name, by what there is to start. No shell reads the words themselves. */
export function startable([program, ...args]: readonly Word[]): readonly Word[] {
  const { text } = program!
  if (text === '[' && args.at(-1)?.text === ']') return [{ text: 'test' }, ...args.slice(0, -1)]
  if (!BUILTINS.has(text)) return [program!, ...args]
  return [...['bash', '--noprofile', '--norc', '-p', '-c', `${text} "$@"`, 'bash'].map((word) => ({ text: word })), ...args]
}
