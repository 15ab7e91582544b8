import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { readPipeRequest, withStageSecrets } from '../../src/shell/request.ts'
import { callOf, handleOf, SECRET, vaultOf } from '../secrets/setup.ts'

const CAT = { cmd: 'cat' }

describe('a pipe request', () => {
  it('has defaults', () => {
    expect(readPipeRequest([[CAT]])).toEqual({
      stages: [{ cmd: 'cat', args: [], input: undefined, stdout: 'out', stderr: 'err' }], cwd: undefined,
      timeoutMs: undefined, wall: undefined, hosts: [], isolated: false, quiet: false, save: false,
    })
    const nothing = { cmd: 'cat', args: null, input: null, stdout: null, stderr: null }
    expect(readPipeRequest([[nothing], { cwd: null, timeoutMs: null, wall: null, quiet: null, save: null }]))
      .toEqual(readPipeRequest([[CAT]]))
    const first = { cmd: 'cat', args: ['-n'], input: { path: 'a' }, stdout: { path: 'b', append: true }, stderr: 'out' }
    expect(readPipeRequest([
      [first, { cmd: 'cat', stdout: { path: 'c', append: 1 }, stderr: 'nothing' }],
      { cwd: 'src', timeoutMs: 1, wall: 'look', isolated: true, quiet: true, save: true },
    ])).toEqual({
      stages: [
        first, { cmd: 'cat', args: [], input: undefined, stdout: { path: 'c', append: false }, stderr: 'nothing' },
      ],
      cwd: 'src', timeoutMs: 1, wall: 'look', hosts: [], isolated: true, quiet: true, save: true,
    })
    expect(readPipeRequest([[CAT], { wall: 'work', quiet: 1 }])).toMatchObject({ wall: 'work', quiet: false })
    expect(['stderr', 'stdout'].map((save) => readPipeRequest([[CAT], { save }]).save)).toEqual(['stderr', false])
    for (const hosts of ['all', ['example.com', '*.example.com:8443']] as const) {
      expect(readPipeRequest([[CAT], { wall: 'work', hosts }])).toMatchObject({ wall: 'work', hosts })
    }
  })

  it('names the commands of a line that a shell runs', () => {
    const [one, two] = [{ cmd: 'ls', args: [] }, { cmd: 'cat', args: ['a'] }]
    const asOf = (as: Json) => readPipeRequest([[{ ...CAT, as }]]).stages[0]!.as
    expect([asOf([one, two]), asOf(one), asOf(null)]).toEqual([[one, two], [one], undefined])
    for (const as of [[], 'ls', [one, 'ls'], Array.from({ length: 301 }, () => one)])
      expect(() => asOf(as)).toThrow('The pipe is invalid')
  })

  it('may reach the limits of commands and time', () => {
    const { stages, timeoutMs } = readPipeRequest([Array.from({ length: 32 }, () => CAT), { timeoutMs: 3_600_000 }])
    expect([stages.length, timeoutMs]).toEqual([32, 3_600_000])
  })

  it.each<[string, readonly Json[]]>([
    ['it has no commands', [[]]],
    ['the wall is unknown', [[CAT], { wall: 'read' }]],
    ['hosts are for another wall', [[CAT], { wall: 'look', hosts: ['example.com'] }]],
    ['a host is no pattern', [[CAT], { wall: 'work', hosts: [''] }]],
    ['it has too many commands', [Array.from({ length: 33 }, () => CAT)]],
    ['the commands are not an array', [CAT]],
    ['a command is not an object', [['cat']]],
    ['a command has no name', [[{}]]],
    ['the options are not an object', [[CAT], 'look']],
    ['its wall is unknown', [[CAT], { wall: 'none' }]],
    ['the timeout is 0', [[CAT], { timeoutMs: 0 }]],
    ['the timeout is not a whole number', [[CAT], { timeoutMs: 1.5 }]],
    ['the timeout is too long', [[CAT], { timeoutMs: 3_600_001 }]],
    ['the timeout is a string', [[CAT], { timeoutMs: '1' }]],
    ['a later command has an input', [[CAT, { cmd: 'cat', input: 'x' }]]],
    ['an input is too long', [[{ cmd: 'cat', input: 'x'.repeat(1024 * 1024 + 1) }]]],
    ['it has too many hosts', [[CAT], { wall: 'work', hosts: Array.from({ length: 65 }, (_, at) => `h${at}.test`) }]],
    ['an input is a folder', [[{ cmd: 'cat', input: { path: 'src/' } }]]],
    ['an output is a folder', [[{ cmd: 'cat', stdout: { path: 'src/.' } }]]],
    ['stdout has an unknown target', [[{ cmd: 'cat', stdout: 'err2' }]]],
    ['stderr has an unknown target', [[{ cmd: 'cat', stderr: true }]]],
  ])('is rejected if %s', (_, given) => {
    expect(() => readPipeRequest(given)).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
  })
})

describe('secrets in a pipe', () => {
  const given = async () => {
    const [vault, call] = [vaultOf({ TOKEN: { commands: ['gh'] } }), callOf({})]
    return { handle: await handleOf(vault, call), secrets: vault.of(call.callId) }
  }

  it('are replaced only in arguments and input of their commands', async () => {
    const { handle, secrets } = await given()
    const filled = withStageSecrets(
      readPipeRequest([[{ cmd: 'gh', args: [handle], input: `${handle}.` }, CAT]]), secrets,
    )
    expect(filled.stages.map(({ args, input }) => [args, input])).toEqual([[[SECRET], `${SECRET}.`], [[], undefined]])
    for (const stages of [[{ cmd: 'cat', args: [handle] }], [{ cmd: 'cat', input: handle }]]) {
      expect(() => withStageSecrets(readPipeRequest([stages]), secrets)).toThrow('may not be given to cat')
    }
    const file = { cmd: 'gh', input: { path: 'a' } }
    expect(withStageSecrets(readPipeRequest([[file]]), secrets).stages[0]!.input).toEqual({ path: 'a' })
  })

  it.each(['stdout', 'stderr'])('deny redirection of %s into a file, for every command', async (stream) => {
    const { handle, secrets } = await given()
    const written = { cmd: 'cat', [stream]: { path: 'a' } }
    for (const secret of [{ cmd: 'gh', args: [handle] }, { cmd: 'gh', input: handle }]) {
      expect(() => withStageSecrets(readPipeRequest([[secret, written]]), secrets)).toThrow('cannot go into a file')
    }
    expect(withStageSecrets(readPipeRequest([[{ cmd: 'gh' }, written]]), secrets).stages).toHaveLength(2)
  })
})
