import { isPlain, type Word, wordList } from '../parse/plan.ts'
import type { KnownUse } from './option-list.ts'

const ALONE = '! ( ) , -a -and -daystart -depth -empty -executable -false -ignore_readdir_race -ls -mount -nogroup -noleaf -not '
  + '-nouser -o -or -print -print0 -prune -quit -readable -true -writable -xdev'
const WITH_A_WORD = '-amin -atime -cmin -ctime -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname '
  + '-maxdepth -mindepth -mmin -mtime -name -newermt -path -perm -printf -regex -regextype -size -type -uid -used -user '
  + '-wholename -xtype'

/** Tests and actions of `find` that only look and print, with how many words each takes. */
const EXPRESSIONS: ReadonlyMap<string, number> = new Map([
  ...wordList(ALONE).map((name) => [name, 0] as const), ...wordList(WITH_A_WORD).map((name) => [name, 1] as const),
])
const PATH_EXPRESSIONS: ReadonlySet<string> = new Set(wordList('-newer -anewer -cnewer -samefile'))

/** What it runs for each file or for all of them, without the word that stands for these. */
export type RunEach = (words: readonly Word[]) => string | undefined

export interface FindUse extends KnownUse {
  /** Keys of the programs that it runs. */
  readonly also: readonly string[]
}

/** Where it starts, when it does nothing but look; undefined when it may do more. */
export function findUse(args: readonly Word[], runEach: RunEach): FindUse | undefined {
  const first = args.findIndex(({ text }) => /^[-(),!]/.test(text))
  const starts = first < 0 ? args : args.slice(0, first)
  const expression = first < 0 ? [] : args.slice(first)
  const paths = [...starts]
  const also: string[] = []
  // What is not known yet could stand for any number of words here.
  if (!expression.every(isPlain)) return undefined
  for (let index = 0; index < expression.length; index++) {
    const { text } = expression[index]!
    if (text === '-exec') {
      const command = execCommand(expression.slice(index + 1))
      const key = isNegated(expression[index - 1]) ? undefined : command && runEach(command.words)
      if (key === undefined) return undefined
      also.push(key)
      index += command!.taken
      continue
    }
    if (PATH_EXPRESSIONS.has(text)) {
      const path = expression[++index]
      if (path === undefined) return undefined
      paths.push(path)
      continue
    }
    const takes = EXPRESSIONS.get(text)
    if (takes === undefined) return undefined
    index += takes
  }
  // One that is the value of another word would be taken for an action when links are left out.
  return args.filter(({ text }) => text === '-exec').length === also.length ? { paths, also } : undefined
}

const isNegated = (before: Word | undefined): boolean => before?.text === '!' || before?.text === '-not'

/** The words of a command up to its `{} +` or `{} ;`; undefined in every other form. */
function execCommand(words: readonly Word[]): { readonly words: readonly Word[]; readonly taken: number } | undefined {
  const at = words.findIndex(({ text }) => text.includes('{}') || text === ';' || text === '+')
  const end = words[at + 1]?.text
  return at > 0 && words[at]!.text === '{}' && (end === '+' || end === ';') ? { words: words.slice(0, at), taken: at + 2 } : undefined
}

/** The same where links are left out of what it hands to a program, which would follow them. */
export function hardenedFind(words: readonly Word[]): readonly Word[] {
  return words.flatMap((word, index) =>
    index > 0 && word.text === '-exec' ? [{ text: '!' }, { text: '-type' }, { text: 'l' }, word] : [word])
}
