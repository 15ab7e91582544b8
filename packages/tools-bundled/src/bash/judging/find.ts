import type { Word } from '../reading/plan.ts'
import { wordList } from '../reading/word-list.ts'
import type { KnownUse } from './option-list.ts'

const ALONE = '! ( ) , -a -and -daystart -depth -empty -executable -false -ignore_readdir_race -ls -mount -nogroup -noleaf -not '
  + '-nouser -o -or -print -print0 -prune -quit -readable -true -writable -xdev'
const WITH_A_WORD = '-amin -atime -cmin -ctime -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth '
  + '-mindepth -mmin -mtime -name -newermt -path -perm -printf -regex -regextype -size -type -uid -used -user -wholename -xtype'

/** Tests and actions of `find` that only look and print, with how many words each takes. */
const EXPRESSIONS: ReadonlyMap<string, number> = new Map([
  ...wordList(ALONE).map((name) => [name, 0] as const), ...wordList(WITH_A_WORD).map((name) => [name, 1] as const),
])
const PATH_EXPRESSIONS: ReadonlySet<string> = new Set(wordList('-newer -anewer -cnewer -samefile'))

/** Where it starts, when it does nothing but look; undefined when it may do more. */
export function findUse(args: readonly Word[]): KnownUse | undefined {
  const first = args.findIndex(({ text }) => /^[-(),!]/.test(text))
  const starts = first < 0 ? args : args.slice(0, first)
  const expression = first < 0 ? [] : args.slice(first)
  const paths = [...starts]
  // A pattern could stand for any number of words here.
  if (expression.some(({ pattern }) => pattern !== undefined)) return undefined
  for (let index = 0; index < expression.length; index++) {
    const { text } = expression[index]!
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
  return { paths }
}
