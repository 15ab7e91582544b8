import { describe, expect, it } from 'vitest'
import { commandNames, commandText, possibleCommands } from '../../policy/command-names.ts'
import { Findings } from '../../policy/findings.ts'
import { commandAtAnyWord } from '../../policy/nested-commands.ts'
import { readingKeys } from '../../policy/reading-commands.ts'
import { innermost } from '../../policy/wrappers.ts'

const words = (text: string) => text.split(' ').map((word) => ({ text: word }))
const asks = (findings: Findings) => findings.reading('key').asks.map(({ reason }) => reason)

describe('rules judge a bounded number', () => {
  it('of commands in each other', () => {
    const after = (depth: number) => {
      const findings = new Findings()
      commandNames(words(`${'setsid '.repeat(depth)}ls`), findings)
      return asks(findings)
    }
    expect(after(8)).not.toContain('it contains too many nested commands')
    expect(after(9)).toContain('it contains too many nested commands')
  })

  it('of commands in one line', () => {
    const findings = new Findings()
    for (let count = 0; count < 300; count++) commandNames(words('ls'), findings)
    expect(asks(findings)).toEqual([])
    commandNames(words('ls'), findings)
    expect(asks(findings)).toEqual(['it contains too many nested commands'])
  })

  it('of words where a command may start', () => {
    const args = Array.from({ length: 41 }, () => ({ text: 'a' }))
    expect(commandAtAnyWord(args.slice(1))).toMatchObject({ inner: { length: 40 } })
    expect(commandAtAnyWord(args)).toMatchObject({ inner: { length: 40 }, unread: 'it has too many arguments' })
    expect(possibleCommands('a '.repeat(300))).toHaveLength(200)
  })
})

it('a command behind more than eight wrappers counts as its wrapper', () => {
  const wrapped = (depth: number) => commandText(innermost(words(`${'nohup '.repeat(depth)}ls`)))
  expect([wrapped(7), wrapped(9)]).toEqual(['ls', `${'nohup '.repeat(9)}ls`])
})

it('a command that runs others in each other more than eight times does not count as reading', () => {
  const keys = (depth: number) => readingKeys(words(`${'xargs '.repeat(depth)}cat`), { workspace: '/w', folder: '.' })
  expect([keys(8), keys(9)]).toEqual([['cat'], undefined])
})
