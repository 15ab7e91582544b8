import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../../../scripts/thoroughly.ts'
import { commandText } from '../../policy/command-names.ts'

it('different commands have different names of printable characters', () => {
  const words = fc.array(
    fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('', ' ', "'", '$', '\n', '\\', '[shell]', '> x', 'a b')),
    { minLength: 1, maxLength: 4 },
  )
  fc.assert(fc.property(words, words, (a, b) => {
    const [one, two] = [a, b].map((list) => commandText(list.map((text) => ({ text }))))
    expect(one).not.toMatch(/\p{Cc}/u)
    expect(one === two).toBe(JSON.stringify(a) === JSON.stringify(b))
  }), { numRuns: thoroughly(400, 2_000) })
})

it('a shell parses the name back to the same words', () => {
  const lists = fc.sample(
    fc.array(
      fc.string({
        unit: fc.constantFrom(
          'a', ' ', "'", '"', '$', '`', '\\', '\n', '\t', '*', ';', '&', '|', 'ü', '!', '~', '{', '#',
        ),
        maxLength: 6,
      }),
      { minLength: 1, maxLength: 4 },
    ),
    { numRuns: thoroughly(60, 300), seed: 3 },
  )
  const script = lists
    .map((list) => `p ${commandText([{ text: 'p' }, ...list.map((text) => ({ text }))]).slice(2)}`)
    .join('\n')
  const { stdout } = spawnSync('bash', ['--norc', '-s'], {
    input: `p() { printf '%s\\0' "$@" '<end>'; }\n${script}\n`, encoding: 'utf8',
    env: { LC_ALL: 'C.UTF-8', PATH: '/usr/bin:/bin' },
  })
  expect(stdout.split('<end>\0').slice(0, -1).map((part) => part.split('\0').slice(0, -1))).toEqual(lists)
})

it('a pattern and the same string in quotes have different names', () => {
  expect(commandText([{ text: 'ls' }, { text: '*', pattern: [{ kind: 'star' }] }])).toBe('ls *')
  expect(commandText([{ text: 'ls' }, { text: '*' }])).toBe("ls '*'")
  expect(commandText([{ text: '[shell]' }])).toBe("'[shell]'")
})
