import { BulkheadError, type ClientCommand, type ClientRun, type WorkspaceClient } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { OpenCall } from '../../src/model/capability.ts'
import { ShellSetup } from './shell-setup.ts'

let setup: ShellSetup
beforeEach(() => { setup = new ShellSetup() })
afterEach(() => setup.clear())

const ENDED: ClientRun = { exitCode: 0, signal: null, output: 'shown\n', truncated: false }
const ANY_COMMAND = { shell: [{ cmd: '*', args: [{ rest: true }] }] } as const
type Run = NonNullable<WorkspaceClient['run']>

function open(run: Run, grant: object = ANY_COMMAND, more: object = {}, given: Partial<OpenCall> = {}) {
  const commands: ClientCommand[] = []
  const client: WorkspaceClient = { run: (command, call) => { commands.push(command); return run(command, call) } }
  return { ...setup.open(grant, { clientOf: () => client, ...more }, given), commands }
}

it('gets the checked program, its arguments and the real folder', async () => {
  const { shell, commands } = open(async () => ENDED)
  expect(await shell.pipe([{ cmd: 'echo', args: ['a b', '$(c)'] }])).toEqual({
    exits: [{ exitCode: 0, signal: null }], stdout: 'shown\n', stderr: '', truncated: false, timedOut: false,
  })
  expect(commands).toEqual([
    { program: '/usr/bin/echo', args: ['a b', '$(c)'], cwd: setup.workspace, outputBytes: 200 * 1024 },
  ])
})

it.each([
  ['only reads', {}, { wall: 'look' as const }], ['is quiet', {}, { quiet: true }],
  ['has an input', { input: 'x' }, {}],
  ['writes into nothing', { stdout: 'nothing' as const }, {}],
])('gets no command that %s', async (_, stage, options) => {
  const { shell, commands } = open(async () => ENDED)
  await shell.pipe([{ cmd: 'echo', args: ['x'], ...stage }], options)
  expect(commands).toEqual([])
})

it('gets no command with keys: it has the variables of its client', async () => {
  const wall = { wall: 'work', hosts: ['localhost:1'], keys: ['TOKEN'] } as const
  const { shell, commands } = open(async () => ENDED, ANY_COMMAND, {}, { wall })
  expect(await shell.pipe([{ cmd: 'echo', args: ['x'] }])).toMatchObject({ stdout: 'x\n' })
  expect(commands).toEqual([])
})

it('gets no pipe, no command of a tool with a restricted environment, and none that is denied', async () => {
  const one = open(async () => ENDED)
  expect(await one.shell.pipe([{ cmd: 'echo', args: ['x'] }, { cmd: 'cat' }])).toMatchObject({ stdout: 'x\n' })
  const restricted = open(async () => ENDED, { shell: [{ cmd: 'echo', args: [{ wildcard: true }] }] })
  expect(await restricted.shell.pipe([{ cmd: 'echo', args: ['x'] }])).toMatchObject({ stdout: 'x\n' })
  await expect(restricted.shell.pipe([{ cmd: 'cat' }])).rejects.toMatchObject({ code: 'CapabilityDenied' })
  await expect(open(async () => ENDED).shell.pipe([{ cmd: 'echo' }], { cwd: '/etc' })).rejects.toMatchObject({
    code: 'CapabilityDenied',
  })
  expect([...one.commands, ...restricted.commands]).toEqual([])
})

it('is stopped when the time is over, and its output counts', async () => {
  const { shell } = open((_, { signal }) => new Promise((resolve) => {
    signal.addEventListener('abort', () =>
      resolve({ exitCode: null, signal: 'SIGTERM', output: 'half', truncated: false }),
    )
  }))
  expect(await shell.pipe([{ cmd: 'sleep', args: ['60'] }], { timeoutMs: 10 })).toMatchObject({
    timedOut: true, stdout: 'half',
  })
})

it('is stopped when the call is cancelled, at once', async () => {
  const aborted = Promise.withResolvers<void>()
  const { shell, cancel } = open((_, { signal }) => new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => { aborted.resolve(); reject(new Error('stopped')) })
    cancel(new BulkheadError('TurnCancelled', 'stop'))
  }))
  await expect(shell.pipe([{ cmd: 'sleep', args: ['60'] }])).rejects.toMatchObject({ code: 'TurnCancelled' })
  await aborted.promise
})

it.each<[string, Run]>([
  ['rejects', async () => { throw new Error('no terminal') }],
  ['sends no output', async () => ({ exitCode: 0 }) as ClientRun],
])('fails if the client %s', async (_, run) => {
  await expect(open(run).shell.pipe([{ cmd: 'echo' }]))
    .rejects.toMatchObject({ code: 'ToolExecutionFailed', message: expect.stringMatching(/^The client could not run/) })
})

it('keeps no more output than it asked for', async () => {
  const run: Run = async (command) => ({ ...ENDED, output: 'x'.repeat(command.outputBytes + 1) })
  const result = await open(run).shell.pipe([{ cmd: 'echo' }])
  expect(result).toMatchObject({ truncated: true })
  expect(result.stdout).toHaveLength(200 * 1024)
})
