import { describe, expect, it } from 'vitest'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { detectOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { MissingLayers } from '../../src/os/walls.ts'
import { createSandbox } from '../../src/sandbox.ts'
import { temporaryFolder } from '../fixture.ts'

const none = withoutLayers('it is not installed')
const rlimits: OsLayers['rlimits'] = {
  active: true, path: '/bin/prlimit', idleDataBytes: 1, threadDataBytes: 1, hard: new Map(),
}
const bubblewrap: OsLayers['bubblewrap'] = {
  active: true, path: '/bin/bwrap', node: '/node', files: new Map(), refusesNamespaces: true,
}
const seccomp: OsLayers['seccomp'] = { active: true, filter: new Uint8Array() }
const utilLinux = {
  active: true,
  setpriv: { path: '/bin/setpriv', options: [], dropsCapabilities: true, isOtherUser: true },
  namespaces: { active: true, setpriv: '/bin/setpriv', path: '/bin/unshare', options: [], shell: '/bin/sh' },
} as const satisfies OsLayers['utilLinux']

const launcher = { active: true, files: [], isOtherUser: false, namespaces: utilLinux.namespaces } as const

function reported(layers: OsLayers, mode: 'auto' | 'require' | 'off' = 'auto'): readonly string[] {
  const missing = new MissingLayers()
  const messages: string[] = []
  missing.ofProcesses(layers, mode)
  missing.watch(({ message }) => messages.push(message))
  missing.ofProcesses(layers, mode)
  return messages
}

describe('a missing layer is reported once, with what replaces it', () => {
  it.each<[string, OsLayers, string | undefined]>([
    ['none', { ...none, rlimits, bubblewrap, seccomp }, undefined],
    [
      'the filter', { ...none, rlimits, bubblewrap },
      'Third-party tools run without a seccomp filter (it is not installed).',
    ],
    ['bubblewrap, with the launcher', { ...none, rlimits, seccomp, launcher },
      'Third-party tools run without bubblewrap (it is not installed). Instead, the launcher keeps them from files, '
      + 'network, processes and privileges; names and sizes of files stay visible.'],
    ['bubblewrap', {
      ...none, rlimits, utilLinux,
    }, 'Third-party tools run without bubblewrap (it is not installed), a seccomp filter. '
      + 'Instead, setpriv and unshare take away privileges, the network and other processes.'],
    ['bubblewrap and namespaces', {
      ...none, rlimits, utilLinux: { ...utilLinux, namespaces: { active: false, reason: 'not permitted' } },
    },
      'Third-party tools run without bubblewrap (it is not installed), a seccomp filter. '
      + 'Instead, setpriv takes away privileges, but not the network and other processes (not permitted).'],
    ['all', none, 'Third-party tools run without bubblewrap (it is not installed), a seccomp filter, resource limits '
      + '(it is not installed). Nothing replaces bubblewrap: neither the launcher (it is not installed) nor setpriv '
      + '(it is not installed) works.'],
  ])('the report is complete where the layer that is missing is %s', (_, layers, message) => {
    expect(reported(layers)).toEqual(message === undefined ? [] : [message])
  })

  it('nothing is reported when all layers are switched off', () => {
    expect(reported(none, 'off')).toEqual([])
  })
})

it('a sandbox confines commands if its wall around them stands, until one ran without it', async () => {
  const sandbox = createSandbox({ workspace: await temporaryFolder() })
  const stands = (await sandbox.walls()).some((wall) => wall.around === 'commands' && wall.stands)
  const { look, work } = await sandbox.commandWalls()
  expect([look, work]).toEqual([stands, stands])
  await sandbox.close()
  const missing = new MissingLayers()
  expect(missing.lacksCommandWall).toBe(false)
  missing.ofProcesses(none, 'auto')
  expect(missing.lacksCommandWall).toBe(false)
  missing.ofCommands()
  expect(missing.lacksCommandWall).toBe(true)
})

it('a sandbox can report missing layers before it opens a compartment', async () => {
  const sandbox = createSandbox({ workspace: await temporaryFolder() })
  const messages: string[] = []
  sandbox.watchWalls(({ message }) => messages.push(message))
  await sandbox.tryWalls()
  await sandbox.close()
  expect(messages).toEqual(reported(await detectOsLayers()))
})
