import { describe, expect, it } from 'vitest'
import { commandText } from '../../policy/command-names.ts'
import { innermost, unwrap } from '../../policy/wrappers.ts'
import { parseCommand } from '../../parse/parse-command.ts'

const wordsOf = (text: string) => {
  const reading = parseCommand(text)
  const step = reading.kind === 'plan' ? reading.steps[0] : undefined
  if (step?.kind !== 'run') throw new Error(`"${text}" is no plan`)
  return step.stages[0]!.words
}

describe('innermost() removes wrappers that only change how a command runs', () => {
  it.each([
    ['timeout 5 ls -la', 'ls -la'],
    ['timeout -s KILL --kill-after=1 5 ls', 'ls'],
    ['nice ls', 'ls'],
    ['nice -n 19 ls', 'ls'],
    ['nice -5 ls', 'ls'],
    ['nohup ls', 'ls'],
    ['stdbuf -oL ls', 'ls'],
    ['ionice -c 3 ls', 'ls'],
    ['env ls', 'ls'],
    ['env NO_COLOR=1 LC_ALL=C ls', 'ls'],
    ['env timeout 5 nice nohup ls', 'ls'],
    ["'time' -p ls", 'ls'],
  ])('removes those of %s', (text, inner) => {
    expect(commandText(innermost(wordsOf(text)))).toBe(inner)
  })

  it.each(
    [
      'env', 'env -i ls', 'env -u X ls', 'env PATH=. ls', 'env LANG=/tmp/x ls', 'env -S ls', './env ls',
      '/usr/bin/timeout 5 ls', 'timeout', 'timeout 5', 'timeout --nonsense 5 ls', 'nice --nonsense ls', 'sudo ls',
      'setsid ls', 'xargs ls', 'busybox ls', 'command ls', 'strace ls', 'timeout * ls', `${'env '.repeat(20)}ls`,
    ].filter((text) => parseCommand(text).kind === 'plan'),
  )('keeps `%s`', (text) => {
    const words = wordsOf(text)
    expect(innermost(words)).toEqual(words)
  })
})

describe('unwrap() finds the commands that a program runs', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['sudo -u root -n rm x', ['rm x'], []],
    ['doas rm x', ['rm x'], []],
    ['setsid -w rm x', ['rm x'], []],
    ['xargs -0 -n 1 rm -f', ['rm -f'], []],
    ['xargs -I{} mv {} x', ["mv '{}' x"], []],
    ['xargs', ['echo'], []],
    ['find . -name a -exec rm {} + -o -execdir mv {} b \\;', ["rm '{}'", "mv '{}' b"], []],
    ['find . -ok rm {} \\;', ["rm '{}'"], []],
    ["sh -c 'rm x'", [], ['rm x']],
    ["bash -lc 'rm x' name", [], ['rm x']],
    ["bash --norc -e -o pipefail -c 'rm x'", [], ['rm x']],
    ["fish --command='rm x'", [], ['rm x']],
    ["git -c core.pager='rm x' log", [], ['rm x']],
    ["git -c alias.z='!rm x' z", [], ['rm x']],
    ['git bisect run rm x', ['rm x'], ['rm x']],
    ["git submodule foreach --recursive 'rm x'", ["'rm x'"], ['rm x']],
    ["git rebase --exec 'rm x' main", [], ['rm x']],
    ["git fetch --upload-pack='rm x'", [], ['rm x']],
    ["tar xf a --to-command='rm x'", [], ['rm x']],
    ["tar cf a --checkpoint-action=exec='rm x' b", [], ['rm x']],
    ["rsync -e 'rm x' a b", [], ['rm x']],
    ["sort --compress-program='rm x' a", [], ['rm x']],
    ["rg --pre 'rm x' a", [], ['rm x']],
    ['npx -y rimraf x', ['rimraf x'], []],
    ['npm exec rimraf x', ['rimraf x'], []],
    ['poetry run rm x', ['rm x'], []],
    ['flock lock rm x', ['rm x'], []],
    ['chroot . rm x', ['rm x'], []],
    ['strace -f -o out rm x', ['rm x'], []],
  ])('finds those of %s', (text, inner, scripts) => {
    const wrapped = unwrap(wordsOf(text))!
    expect(wrapped.inner.map(({ words }) => commandText(words))).toEqual(inner)
    expect(wrapped.scripts).toEqual(scripts)
    expect([wrapped.transparent, wrapped.unread]).toEqual([false, undefined])
  })

  it.each([
    'timeout --nonsense 5 rm x', 'sudo --nonsense rm x', 'xargs --nonsense rm', 'watch rm x', 'parallel rm ::: x',
    "script -c 'rm x'", 'bash -c', 'env --nonsense rm x',
  ])('reports that the command in `%s` is unknown', (text) => {
    expect(unwrap(wordsOf(text))!.unread).toBeTypeOf('string')
  })

  it.each(['ls -la', 'git status', 'find . -name x', 'sh script.sh', 'tar xf a', 'npm test', 'bash --version'])(
    'finds no command in `%s`',
    (text) => {
      expect(unwrap(wordsOf(text))).toBeUndefined()
    },
  )
})
