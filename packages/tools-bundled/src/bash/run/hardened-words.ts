import { hardenedFind } from '../policy/find.ts'
import { hardenedGit, hasOtherFiles, refusedSetting } from '../policy/git.ts'
import { innermost } from '../policy/judge-words.ts'
import type { Word } from '../parse/plan.ts'

/** What is asked of the repository here before it is read. */
export interface Repository {
  /** The names in its configuration. */
  names(): Promise<readonly string[]>
  /** Whether its files are those of the folder. */
  isHere(): Promise<boolean>
}

/** A program that only reads shall not be made to do more by what it reads, nor be led out of the workspace by a link. */
export async function hardenedWords(words: readonly Word[], repository: Repository): Promise<readonly Word[]> {
  const inner = innermost(words)
  const safer = await hardened(inner, repository)
  return safer === inner ? words : [...words.slice(0, words.length - inner.length), ...safer]
}

async function hardened(inner: readonly Word[], repository: Repository): Promise<readonly Word[]> {
  const [program, ...args] = inner
  switch (program!.text) {
    case 'git': {
      const names = await repository.names()
      if (hasOtherFiles(names) && !await repository.isHere()) throw refusedSetting()
      return hardenedGit(inner, names)
    }
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
