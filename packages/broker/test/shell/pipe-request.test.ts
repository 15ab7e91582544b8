import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { readPipeRequest, withStageSecrets } from '../../src/shell/request.ts'
import { callOf, handleOf, SECRET, vaultOf } from '../secrets/ground.ts'

const CAT = { cmd: 'cat' }

describe('commands for a pipe', () => {
  it('have defaults', () => {
    expect(readPipeRequest([[CAT]])).toEqual({
      stages: [{ cmd: 'cat', args: [], input: undefined, stdout: 'out', stderr: 'err' }], cwd: undefined, timeoutMs: undefined, wall: undefined, quiet: false,
    })
    const nothing = { cmd: 'cat', args: null, input: null, stdout: null, stderr: null }
    expect(readPipeRequest([[nothing], { cwd: null, timeoutMs: null, wall: null, quiet: null }])).toEqual(readPipeRequest([[CAT]]))
    const first = { cmd: 'cat', args: ['-n'], input: { path: 'a' }, stdout: { path: 'b', append: true }, stderr: 'out' }
    expect(readPipeRequest([[first, { cmd: 'cat', stdout: { path: 'c', append: 1 }, stderr: 'nothing' }], { cwd: 'src', timeoutMs: 1, wall: 'read', quiet: true }])).toEqual({
      stages: [first, { cmd: 'cat', args: [], input: undefined, stdout: { path: 'c', append: false }, stderr: 'nothing' }],
      cwd: 'src', timeoutMs: 1, wall: 'read', quiet: true,
    })
    expect(readPipeRequest([[CAT], { wall: 'work', quiet: 1 }])).toMatchObject({ wall: 'work', quiet: false })
  })

  it('may be as many, and take as long, as there is room for', () => {
    const { stages, timeoutMs } = readPipeRequest([Array.from({ length: 32 }, () => CAT), { timeoutMs: 3_600_000 }])
    expect([stages.length, timeoutMs]).toEqual([32, 3_600_000])
  })

  it.each<[string, readonly Json[]]>([
    ['there are none', [[]]],
    ['there are too many', [Array.from({ length: 33 }, () => CAT)]],
    ['they are no list', [CAT]],
    ['one is no object', [['cat']]],
    ['one has no name', [[{}]]],
    ['the options are no object', [[CAT], 'read']],
    ['the wall is another', [[CAT], { wall: 'none' }]],
    ['the time is none', [[CAT], { timeoutMs: 0 }]],
    ['the time is no whole number', [[CAT], { timeoutMs: 1.5 }]],
    ['the time is too long', [[CAT], { timeoutMs: 3_600_001 }]],
    ['the time is a text', [[CAT], { timeoutMs: '1' }]],
    ['a later one has an input', [[CAT, { cmd: 'cat', input: 'x' }]]],
    ['an input is a folder', [[{ cmd: 'cat', input: { path: 'src/' } }]]],
    ['an output is a folder', [[{ cmd: 'cat', stdout: { path: 'src/.' } }]]],
    ['an output goes nowhere that is', [[{ cmd: 'cat', stdout: 'err2' }]]],
    ['a complaint goes nowhere that is', [[{ cmd: 'cat', stderr: true }]]],
  ])('are refused when %s', (_, given) => {
    expect(() => readPipeRequest(given)).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
  })
})

describe('secrets in a pipe', () => {
  const given = async () => {
    const [vault, call] = [vaultOf({ TOKEN: { commands: ['gh'] } }), callOf({})]
    return { handle: await handleOf(vault, call), secrets: vault.of(call.callId) }
  }

  it('stand in the arguments and the input of their commands alone', async () => {
    const { handle, secrets } = await given()
    const filled = withStageSecrets(readPipeRequest([[{ cmd: 'gh', args: [handle], input: `${handle}.` }, CAT]]), secrets)
    expect(filled.stages.map(({ args, input }) => [args, input])).toEqual([[[SECRET], `${SECRET}.`], [[], undefined]])
    for (const stages of [[{ cmd: 'cat', args: [handle] }], [{ cmd: 'cat', input: handle }]]) {
      expect(() => withStageSecrets(readPipeRequest([stages]), secrets)).toThrow('may not be given to cat')
    }
    const file = { cmd: 'gh', input: { path: 'a' } }
    expect(withStageSecrets(readPipeRequest([[file]]), secrets).stages[0]!.input).toEqual({ path: 'a' })
  })

  it.each(['stdout', 'stderr'])('keep what any of the commands says on %s out of files', async (stream) => {
    const { handle, secrets } = await given()
    const written = { cmd: 'cat', [stream]: { path: 'a' } }
    for (const secret of [{ cmd: 'gh', args: [handle] }, { cmd: 'gh', input: handle }]) {
      expect(() => withStageSecrets(readPipeRequest([[secret, written]]), secrets)).toThrow('cannot go into a file')
    }
    expect(withStageSecrets(readPipeRequest([[{ cmd: 'gh' }, written]]), secrets).stages).toHaveLength(2)
  })
})
