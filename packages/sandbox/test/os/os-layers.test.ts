// @module-tag walls
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lookWall } from '@bulkhead/broker'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { inactive, type OsLayers } from '../../src/os/os-layer.ts'
import type { ProbedMachine } from '../../src/os/os-layers.ts'
import { detectOsLayers, findOsLayers, osLayersFor, probeOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { codeOf, refusal, temporaryFolder } from '../fixture.ts'
import { isGone } from './run-under-layers.ts'

const here = await detectOsLayers()
const isLaunching = (await lookWall()).stands
const INACTIVE = { active: false, reason: expect.any(String) as string }
const CROWDED = fileURLToPath(new URL('./fixtures/crowded-host.ts', import.meta.url))
const SYSTEM = ['/usr/bin', '/bin']
const found = (name: string): string | undefined =>
  SYSTEM.map((folder) => join(folder, name)).find((path) => existsSync(path))

const probe = (machine: Partial<ProbedMachine>): Promise<OsLayers> => probeOsLayers({
  node: process.execPath, platform: 'linux', architecture: process.arch, folders: SYSTEM, timeoutMs: 10_000, ...machine,
})

/** A folder with only these programs. */
async function folderOf(programs: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder()
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(folder, name), 0o755)
  }
  return folder
}

/** A module that hides /proc from code that reads files. */
async function withoutProc(): Promise<string> {
  const path = join(await temporaryFolder(), 'without-proc.cjs')
  await writeFile(path, `
    const fs = require('node:fs')
    const { readFileSync } = fs
    fs.readFileSync = (path, ...rest) => readFileSync(String(path).replace(/^\\/proc\\//, '/nowhere/'), ...rest)
    require('node:module').syncBuiltinESMExports()
  `)
  return path
}

/** Runs the command after the options of a wrapper, with the real path of Node. */
const PASS_THROUGH = `while [ "$1" != -- ]; do shift; done; shift 2; exec '${process.execPath}' "$@"`

describe('the layers of this machine', () => {
  it('are detected once', () => {
    expect(findOsLayers()).toBe(findOsLayers())
  })

  it('are the same when they are probed directly', () => {
    const bwrap = spawnSync(
      found('bwrap') ?? '/nowhere', ['--unshare-all', '--unshare-user', '--ro-bind', '/', '/', '/bin/true'],
    )
    const prlimit = spawnSync(found('prlimit') ?? '/nowhere', ['--core=0', '/bin/true'])
    expect(here.bubblewrap.active).toBe(bwrap.status === 0)
    expect(here.rlimits.active).toBe(isLaunching || prlimit.status === 0)
    expect(here.launcher.active).toBe(isLaunching && !here.bubblewrap.active)
    expect(here.seccomp.active).toBe((isLaunching || here.bubblewrap.active) && ['x64', 'arm64'].includes(process.arch))
  })

  it('have a reason when they are inactive', () => {
    const reasons = Object.values(here).map((layer: OsLayers[keyof OsLayers]) => layer.active ? 'active' : layer.reason)
    expect(reasons.filter((reason) => reason === '')).toEqual([])
  })
})

describe('a layer is inactive, with a reason, when', () => {
  it('the operating system is not Linux', async () => {
    expect(await probe({ platform: 'darwin' })).toEqual(withoutLayers('it exists on Linux only'))
  })

  it('its program is not installed', LONG, async () => {
    expect(await probe({ folders: [await folderOf({})] })).toEqual({
      rlimits: { active: false, reason: 'prlimit is not installed' },
      bubblewrap: { active: false, reason: 'bwrap is not installed' },
      ...(isLaunching ? {
        rlimits: expect.objectContaining({ active: true, path: undefined }),
        seccomp: expect.objectContaining({ active: true }),
        launcher: expect.objectContaining({ namespaces: { active: false, reason: 'setpriv is not installed' } }),
        utilLinux: { active: false, reason: 'the launcher does more' },
      } : { seccomp: INACTIVE, launcher: INACTIVE, utilLinux: { active: false, reason: 'setpriv is not installed' } }),
    })
  })

  it('its program fails, with the output of the program as the reason', LONG, async () => {
    const folder = await folderOf(
      { bwrap: `printf 'bwrap: no namespaces\\033[31m\\nhere' >&2; exit 1`, prlimit: 'exit 3' },
    )
    expect(await probe({ folders: [folder] })).toMatchObject({
      bubblewrap: { active: false, reason: 'bwrap: no namespaces [31m here' },
      ...(isLaunching
        ? { rlimits: { active: true, path: undefined } }
        : { rlimits: { active: false, reason: 'it ended with code 3' } }),
    })
  })

  it('its program confines nothing', async () => {
    const { bubblewrap } = await probe({ folders: [await folderOf({ bwrap: PASS_THROUGH })] })
    expect(bubblewrap)
      .toMatchObject({ active: false, reason: expect.stringMatching(/^files of the host can be seen inside: /) })
  })

  it('its program starts another program', LONG, async () => {
    const { bubblewrap } = await probe({ folders: [await folderOf({ bwrap: 'echo hello >&3' })] })
    expect(bubblewrap).toEqual({ active: false, reason: 'the test process reported: hello' })
  })

  it('its program does not end, and is killed', LONG, async () => {
    const noted = join(await temporaryFolder(), 'pids')
    const folder = await folderOf(
      { bwrap: `echo $$ >> '${noted}'; exec '${process.execPath}' -e 'setInterval(() => {}, 1000)'` },
    )
    const { bubblewrap } = await probe({ folders: [folder], timeoutMs: 5_000 })
    expect(bubblewrap).toEqual({ active: false, reason: 'it had not ended after 5000 ms' })
    expect(readFileSync(noted, 'utf8').trim().split('\n').map(Number).every(isGone)).toBe(true)
  })

  it('Node does not start', async () => {
    const { rlimits } = await probe({ node: '/nowhere/node' })
    expect(rlimits)
      .toMatchObject({ active: false, reason: expect.stringMatching(/^Node itself does not start here: /) })
  })

  it('Node cannot be located because /proc is not mounted', async () => {
    expect(await probe({ node: 'node' }))
      .toEqual(withoutLayers('the path of Node is not known, because /proc is not mounted'))
  })

  it('/proc is not mounted, and it is the layer of resource limits', LONG, async () => {
    const folder = await folderOf({ node: `exec '${process.execPath}' --require '${await withoutProc()}' "$@"` })
    // Without the programs of the other layer, which has many forms to try.
    for (const name of ['prlimit', 'bwrap']) await symlink(found(name) ?? '/nowhere', join(folder, name))
    const { rlimits, bubblewrap } = await probe({ node: join(folder, 'node'), folders: [folder] })
    expect(rlimits).toEqual({ active: false, reason: expect.stringContaining('/proc is not mounted') })
    // If /proc is really missing, bubblewrap fails too, with its own message.
    expect(bubblewrap).not.toMatchObject({ reason: expect.stringContaining('/proc is not mounted') })
  })

  it('the system calls of the architecture are not known, and it is the seccomp filter', LONG, async () => {
    const { rlimits, bubblewrap, seccomp } = await probe({ architecture: 'riscv64' })
    expect([rlimits.active, bubblewrap.active, seccomp.active])
      .toEqual([here.rlimits.active, here.bubblewrap.active, false])
  })
})

describe('probing rejects, and is repeated the next time, when', () => {
  it('a program reports that the system is out of resources', LONG, async () => {
    const once = join(await temporaryFolder(), 'tried')
    const words = 'bwrap: Creating new namespace failed: Resource temporarily unavailable'
    const fails = `{ : > '${once}'; echo '${words}' >&2; exit 1; }`
    const folder = await folderOf({ bwrap: `[ -e '${once}' ] || ${fails}; exec '${found('bwrap')}' "$@"` })
    const { code, message } = await refusal(probe({ folders: [folder] }))
    expect([code, message]).toEqual(['NoPlaceFree', expect.stringContaining('Resource temporarily unavailable')])
    expect((await probe({ folders: [folder] })).bubblewrap.active).toBe(here.bubblewrap.active)
  })

  it.each([
    ['Node gets no thread or no memory to start', 'kill -ABRT $$'],
    ['a hull ends without output, with layers and without them',
      `case "$*" in *sharedObjects*) exec '${process.execPath}' "$@";; esac; kill -ABRT $$`],
  ])('%s', async (_, script) => {
    const folder = await folderOf({ node: script })
    expect(await codeOf(probe({ node: join(folder, 'node') }))).toBe('NoPlaceFree')
  })

  it('the host has no descriptors left', LONG, async () => {
    const script = `ulimit -n 512; exec '${process.execPath}' --no-warnings '${CROWDED}'`
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      limits: 'EMFILE', crowded: 'NoPlaceFree',
      later: [here.launcher, here.utilLinux, here.rlimits, here.bubblewrap, here.seccomp].map(({ active }) => active),
    })
  })
})

it('a bubblewrap that cannot forbid namespaces inside is used without that option', LONG, async () => {
  const folder = await folderOf({
    bwrap: `for option; do [ "$option" = --disable-userns ] && exit 1; done; exec '${found('bwrap')}' "$@"`,
  })
  const prlimit = found('prlimit')
  if (prlimit !== undefined) await symlink(prlimit, join(folder, 'prlimit'))
  const { bubblewrap, ...others } = await probe({ folders: [folder] })
  expect(bubblewrap)
    .toMatchObject(here.bubblewrap.active ? { active: true, refusesNamespaces: false } : { active: false })
  expect([others.rlimits.active, others.seccomp.active]).toEqual([here.rlimits.active, here.seccomp.active])
})

describe('the mode', () => {
  const none = withoutLayers('it is not there')

  it('off uses nothing and tries nothing', async () => {
    const layers = await osLayersFor('off', () => Promise.reject(new Error('tried')))
    expect(layers).toEqual(withoutLayers('it is disabled'))
  })

  it('auto uses what works', async () => {
    expect(await osLayersFor('auto')).toBe(here)
    expect(await osLayersFor('auto', () => Promise.resolve(none))).toBe(none)
  })

  it('require rejects without a wall or limits, with the reason and what to do', async () => {
    const { message, code, data } = await refusal(osLayersFor('require', () => Promise.resolve(none)))
    expect(code).toBe('CapabilityUnavailable')
    expect(message).toContain('bubblewrap (it is not there), the launcher (it is not there) and limits of the system '
      + '(it is not there). Install bubblewrap')
    expect(data).toEqual({
      missing: [
        'bubblewrap (it is not there)', 'the launcher (it is not there)', 'limits of the system (it is not there)',
      ],
    })
  })

  it('require uses bubblewrap, or the launcher with its filter', async () => {
    const rlimits = { active: true, path: undefined, idleDataBytes: 1, threadDataBytes: 1, hard: new Map() } as const
    const launcher = { active: true, files: [], isOtherUser: false, namespaces: inactive('it is not there') } as const
    const seccomp = { active: true, filter: new Uint8Array() } as const
    const launched = { ...none, rlimits, launcher, seccomp }
    expect(await osLayersFor('require', async () => launched)).toBe(launched)
    for (const lacking of ['rlimits', 'launcher', 'seccomp'] as const) {
      const layers = async () => ({ ...launched, [lacking]: none[lacking] })
      expect(await codeOf(osLayersFor('require', layers))).toBe('CapabilityUnavailable')
    }
    const isWalled = here.rlimits.active && (here.bubblewrap.active || here.launcher.active)
    expect(await osLayersFor('require').then((layers) => layers === here, () => false)).toBe(isWalled)
  })
})
