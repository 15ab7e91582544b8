import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, type CreateHostOptions, type Host, type StateMachine } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let folder: string
let open: Host[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-hooks-'))
  open = []
  writeExtension(
    join(folder, 'home'),
    {
      id: 'runner',
      tools: [
        {
          name: 'runner', mode: 'external', gated: true, approvalKey: '{command}',
          requires: { shell: [{ cmd: 'sh', args: [{ rest: true }] }] },
          inputSchema: {
            type: 'object', properties: { command: { type: 'string' } }, required: ['command'],
            additionalProperties: false,
          },
        },
      ],
    },
    `export default { tools: { runner: { execute: ({ command }, { update }) => {
    update({ half: command })
    return { ran: command }
  } } } }`,
  )
})
afterEach(async () => {
  await Promise.all(open.map((opened) => opened.close()))
  rmSync(folder, { recursive: true })
})

async function host(config: ConfigFile = {}, more: Partial<CreateHostOptions> = {}): Promise<Host> {
  const created = await createHost({
    workspace: folder, home: join(folder, 'home'), cache: CACHE, config: { ...IN_THREADS, ...config }, ...more,
  })
  open.push(created)
  return created
}
const run = (command: string) => ({ id: crypto.randomUUID(), name: 'runner', arguments: { command } })

it('runs hooks, watchdogs, guards and a state machine around a tool in a thread', async () => {
  const log: string[] = []
  const stateMachine: StateMachine = {
    id: 'release', stage: () => ({ stageExecutionId: 'x', name: 'build', attempt: 1, allowedTools: ['runner'] }),
  }
  const session = await (
    await host()
  ).openSession({
    stateMachine,
    watchdog: ({ args }) =>
      args['command'] === 'ls -la'
        ? undefined
        : { action: 'change', arguments: { command: 'ls -la' }, reason: 'all of it' },
    guards: [{ id: 'dlp', post: () => ({ action: 'change', data: 'hidden', reason: 'names of files' }) }],
    hooks: {
      beforeToolExecution: ({ args, approvalKey }) => {
        log.push(`before ${String(args['command'])} (${approvalKey})`)
      },
      beforeToolExecutionUpdate: (_, partial) => {
        log.push(`update ${JSON.stringify(partial)}`)
      },
      onAfterTool: ({ result }) => {
        log.push(`after ${JSON.stringify(result)}`)
      },
    },
  })
  expect(await session.explain(run('ls'))).toMatchObject({
    decision: 'allow', approvalKey: 'ls -la', arguments: { command: 'ls -la' },
  })
  expect(await session.call(run('ls'))).toMatchObject({ type: 'output', data: 'hidden' })
  expect(log).toEqual(['before ls -la (ls -la)', 'update {"half":"ls -la"}', 'after {"type":"output","data":"hidden"}'])
})

it('refuses critical commands for every tool with a shell, even if a trusted project allows them', async () => {
  mkdirSync(join(folder, '.bulkhead'))
  const loose: ConfigFile = {
    watchdogs: { commandSafety: { enabled: false, severity: { 'shutdown': 'off', 'git-force-push': 'critical' } } },
  }
  writeFileSync(join(folder, '.bulkhead', 'config.json'), JSON.stringify(loose))
  const session = await (await host({}, { trust: 'trusted' })).openSession({ mode: 'yolo' })
  expect(await session.call(run('sudo reboot'))).toMatchObject({
    error: { code: 'WatchdogDenied', data: { source: 'command safety shutdown' } },
  })
  expect(await session.call(run('git push --force'))).toMatchObject({ error: { code: 'WatchdogDenied' } })
  expect(await session.call(run('git status'))).toMatchObject({ data: { ran: 'git status' } })
})

it('command safety can be disabled in the configuration of the host', async () => {
  const session = await (await host({ watchdogs: { commandSafety: { enabled: false } } })).openSession({ mode: 'yolo' })
  expect(await session.call(run('sudo reboot'))).toMatchObject({ data: { ran: 'sudo reboot' } })
})
