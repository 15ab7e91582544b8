// @module-tag walls
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { statSync } from 'node:fs'
import { chmod, copyFile, link, mkdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { has, needs } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { probeOsLayers, withoutLayers } from '../../src/os/os-layers.ts'
import { temporaryFolder } from '../fixture.ts'
import { attempt, layersWithoutBubblewrap } from './run-under-layers.ts'

const nothing = withoutLayers('it is not wanted here')
const fallback = await layersWithoutBubblewrap('launcher')
const isRoot = has('root')
/** Another user cannot start a hull from a checkout in a private folder, such as one that `mktemp -d` makes. */
const isOpenToOthers = (path: string): boolean =>
  (statSync(path).mode & 0o001) !== 0 && (path === dirname(path) || isOpenToOthers(dirname(path)))
const canSeparate = fallback.utilLinux?.active === true && fallback.utilLinux.namespaces.active

/** The values of lines in /proc/self/status, read by unrestricted Node code. */
const status = (fields: readonly string[]): string => `${JSON.stringify(fields)}.map((field) =>
  fs.readFileSync('/proc/self/status', 'latin1').match(new RegExp('^' + field + ':\\\\s+(.*)$', 'm'))[1])`

async function listening(
  where: string | { readonly port: number; readonly host: string },
): Promise<{ readonly port: number; readonly reached: () => number }> {
  let reached = 0
  const server = createServer((socket) => {
    reached += 1
    socket.on('error', () => undefined).end()
  })
  await new Promise<void>((ready) => void server.listen(where as string, ready))
  onTestFinished(() => new Promise((closed) => void server.close(() => closed())))
  return { port: (server.address() as AddressInfo).port, reached: () => reached }
}

describe('without bubblewrap and the launcher, unrestricted Node code', needs('Linux'), () => {
  it('is confined by util-linux', () => {
    expect(fallback.bubblewrap).toEqual({ active: false, reason: 'bwrap is not installed' })
    expect(fallback.utilLinux).toMatchObject({ active: true })
  })

  it('cannot gain privileges, and has no capability', async () => {
    const sets = ['CapEff', 'CapPrm', 'CapInh', ...(isRoot || canSeparate ? ['CapBnd'] : [])]
    expect(await attempt(fallback, status(['NoNewPrivs', ...sets])))
      .toEqual({ value: ['1', ...sets.map(() => '0000000000000000')] })
  })

  it(
    'is not root when the host is',
    { ...runsIf(isOpenToOthers(import.meta.dirname), 'needs a checkout that all users can read'), ...needs('root') },
    async () => {
      const ids = '[process.getuid(), process.getgid(), process.getgroups()]'
      expect(process.getuid?.()).toBe(0)
      expect(await attempt(fallback, ids)).toEqual({ value: [65534, 65534, [65534]] })
    },
  )

  it(
    'cannot reach servers of the host, nor signal or inspect its processes', runsIf(canSeparate, 'needs namespaces'),
    async () => {
      const loopback = { port: 0, host: '127.0.0.1' }
      const abstract = `\0bulkhead-${process.pid}-${Math.random()}`
      const servers = [await listening(loopback), await listening(abstract)]
      const all = `Promise.all([
      () => connect(${JSON.stringify({ ...loopback, port: servers[0]!.port })}),
      () => connect(${JSON.stringify(abstract)}),
      () => process.kill(${process.pid}, 0),
      () => fs.readFileSync('/proc/${process.pid}/environ').length > 0,
    ].map(async (work) => { try { return await work() } catch (error) { return error.code } }))`
      expect(await attempt(nothing, all)).toEqual({ value: ['connected', 'connected', true, true] })
      const unreachable = expect.stringMatching(/^(ECONNREFUSED|ENETUNREACH)$/) as string
      const hidden = expect.stringMatching(/^(ENOENT|EACCES)$/) as string
      expect(await attempt(fallback, all)).toEqual({ value: [unreachable, unreachable, 'ESRCH', hidden] })
      expect(servers.map(({ reached }) => reached())).toEqual([1, 1])
    },
  )
})

describe('the util-linux layer', needs('Linux'), () => {
  const probe = async (programs: Readonly<Record<string, string>>, node = process.execPath): Promise<OsLayers> => {
    const folder = await temporaryFolder()
    await chmod(folder, 0o755)
    for (const [name, text] of Object.entries(programs)) {
      if (text.startsWith('/')) await symlink(text, join(folder, name))
      else await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    }
    return probeOsLayers({
      node, platform: 'linux', architecture: process.arch, folders: [folder], hidden: ['launcher'], timeoutMs: 10_000,
    })
  }
  const PROGRAMS = { setpriv: '/usr/bin/setpriv', unshare: '/usr/bin/unshare', sh: '/bin/sh' }
  /** Ignores its options and runs the command after them. */
  const PASS_THROUGH = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'

  it('is inactive without setpriv, with the reason', LONG, async () => {
    expect((await probe({})).utilLinux).toEqual({ active: false, reason: 'setpriv is not installed' })
  })

  it('drops privileges without namespaces, and has the reason', LONG, async () => {
    const { unshare: _, ...others } = PROGRAMS
    expect((await probe(others)).utilLinux)
      .toMatchObject({ active: true, namespaces: { active: false, reason: 'unshare is not installed' } })
    const refusing = { ...PROGRAMS, unshare: 'echo "unshare: unshare failed: Operation not permitted" >&2; exit 1' }
    expect((await probe(refusing)).utilLinux).toMatchObject({
      active: true, namespaces: { active: false, reason: 'unshare: unshare failed: Operation not permitted' },
    })
  })

  it('is inactive when its programs confine nothing', LONG, async () => {
    // Each form that is tried starts Node. So here `unshare` is missing or refuses all forms but the last.
    expect((await probe({ setpriv: PASS_THROUGH })).utilLinux)
      .toEqual({ active: false, reason: 'a program can still gain privileges inside' })
    const refuse = '{ echo "unshare: not in this form" >&2; exit 1; }'
    const last = `case "$*" in *--mount-proc*) ${refuse};; *--user*) ${PASS_THROUGH};; *) ${refuse};; esac`
    expect((await probe({ ...PROGRAMS, unshare: last })).utilLinux).toMatchObject({
      active: true,
      namespaces: { active: false, reason: "the host's own namespaces can be seen inside: net, ipc, pid" },
    })
  })

  it('stays root without capabilities when no other user can start Node', { ...needs('root'), ...LONG }, async () => {
    const folder = join(await temporaryFolder(), 'private')
    await mkdir(folder, { mode: 0o700 })
    await link(await realpath(process.execPath), join(folder, 'node'))
      .catch(() => copyFile(process.execPath, join(folder, 'node')))
    const { utilLinux } = await probe(PROGRAMS, join(folder, 'node'))
    expect(utilLinux).toMatchObject({ active: true, namespaces: { active: canSeparate } })
    expect(utilLinux.active && utilLinux.setpriv.options).toContain('--bounding-set=-all')
    expect(utilLinux.active && utilLinux.setpriv.options).not.toContain('--reuid')
  })
})
