import { describe, expect, it } from 'vitest'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { hullCommand } from '../../src/os/spawn-hull.ts'
import { withoutLayers } from '../../src/os/os-layers.ts'

const MB = 1024 * 1024
const none = withoutLayers('it is not tried here')
const rlimits: OsLayers['rlimits'] = {
  active: true, path: '/bin/prlimit', idleDataBytes: 300 * MB, threadDataBytes: 200 * MB, hard: new Map(),
}
const bubblewrap: OsLayers['bubblewrap'] = {
  active: true,
  path: '/bin/bwrap',
  node: '/node',
  files: new Map([['/node', '/opt/bin/node'], ['/lib/libc.so.6', '/lib/libc.so.6']]),
  refusesNamespaces: true,
}
const seccomp: OsLayers['seccomp'] = { active: true, filter: Uint8Array.of(6, 0, 0, 0, 0, 0, 0xff, 0x7f) }
const utilLinux = {
  active: true,
  setpriv: { path: '/bin/setpriv', options: ['--no-new-privs'], dropsCapabilities: false, isOtherUser: false },
  namespaces: { active: false, reason: 'unshare is not installed' },
} as const satisfies OsLayers['utilLinux']
const NAMESPACES = {
  active: true, setpriv: '/bin/setpriv', path: '/bin/unshare', options: ['--net'], shell: '/bin/sh',
} as const
const launcher = { active: true, files: ['/opt/bin/node'], isOtherUser: false, namespaces: NAMESPACES } as const
const commandOf = (layers: Partial<OsLayers>): ReturnType<typeof hullCommand> =>
  hullCommand('/opt/bin/node', ['--eval', '0'], { ...none, ...layers }, { memoryMb: 512 })

const LIMITS = [
  `--data=${(300 + 200 + 512 + 64) * MB}`, '--nofile=256', '--fsize=0', '--core=0', '--memlock=0', '--msgqueue=0', '--',
]
const BWRAP_ARGS = [
  '--unshare-all', '--unshare-user', '--disable-userns', '--uid', '65534', '--gid', '65534', '--hostname', 'hull',
  '--die-with-parent', '--cap-drop', 'ALL', '--clearenv',
  '--ro-bind', '/opt/bin/node', '/node', '--ro-bind', '/lib/libc.so.6', '/lib/libc.so.6', '--remount-ro', '/',
  '--chdir', '/',
]

describe('the command line of a hull', () => {
  it('is plain Node without layers', () => {
    expect(commandOf({})).toEqual({ file: '/opt/bin/node', args: ['--eval', '0'] })
  })

  it('derives its limits from memoryMb', () => {
    expect(commandOf({ rlimits })).toEqual({ file: '/bin/prlimit', args: [...LIMITS, '/opt/bin/node', '--eval', '0'] })
  })

  it('never sets a limit above a hard limit of the host', () => {
    const { args } = commandOf({ rlimits: { ...rlimits, hard: new Map([['nofile', 100], ['data', 5000 * MB]]) } })
    expect(args.slice(0, 2)).toEqual([LIMITS[0], '--nofile=100'])
  })

  it('binds only the files of Node with bubblewrap', () => {
    expect(commandOf({ bubblewrap }))
      .toEqual({ file: '/bin/bwrap', args: [...BWRAP_ARGS, '--', '/node', '--eval', '0'] })
  })

  it('leaves out an option that an older bubblewrap does not know', () => {
    const { args } = commandOf({ bubblewrap: { ...bubblewrap, refusesNamespaces: false } })
    expect(args)
      .toEqual([...BWRAP_ARGS.filter((option) => option !== '--disable-userns'), '--', '/node', '--eval', '0'])
  })

  it('has prlimit outside of bubblewrap, and passes the filter by descriptor', () => {
    const { file, args, data } = commandOf({ rlimits, bubblewrap, seccomp })
    expect([file, ...args]).toEqual(
      ['/bin/prlimit', ...LIMITS, '/bin/bwrap', ...BWRAP_ARGS, '--seccomp', '5', '--', '/node', '--eval', '0'],
    )
    expect(data).toBe(seccomp.active && seccomp.filter)
  })

  it('drops privileges with util-linux without bubblewrap', () => {
    const dropped = ['/bin/setpriv', '--no-new-privs', '--']
    expect(commandOf({ utilLinux }))
      .toEqual({ file: '/bin/setpriv', args: [...dropped.slice(1), '/opt/bin/node', '--eval', '0'] })
    const namespaces = NAMESPACES
    const { file, args } = commandOf({ rlimits, utilLinux: { ...utilLinux, namespaces } })
    expect([file, ...args]).toEqual([
      '/bin/prlimit', ...LIMITS, '/bin/setpriv', '--pdeathsig', 'KILL', '--', '/bin/unshare', '--net', '--', ...dropped,
      '/bin/sh', '-c', expect.any(String), 'sh', '/opt/bin/node', '--eval', '0',
    ])
    expect(commandOf({ bubblewrap, utilLinux })).toEqual(commandOf({ bubblewrap }))
  })

  it('starts the launcher in namespaces, and gives it limits and filter in its order', () => {
    const { file, args, data } = commandOf({ rlimits, launcher, seccomp, utilLinux })
    expect([file, ...args]).toEqual([
      '/bin/setpriv', '--pdeathsig', 'KILL', '--', '/bin/unshare', '--net', '--', '/bin/setpriv', '--pdeathsig', 'KILL',
      '--', '/bin/sh', '-c', expect.any(String), 'sh', process.execPath,
      ...args.slice(args.indexOf(process.execPath) + 1, -2), expect.stringMatching(/launch\.cjs$/), '5',
    ])
    const { argv, env, wall } = JSON.parse(Buffer.from(data!.subarray(4)).toString()) as Record<
      'argv' | 'env' | 'wall',
      unknown
    >
    expect([argv, env]).toEqual([['/opt/bin/node', '--openssl-config=/nowhere', '--eval', '0'], []])
    expect(wall).toMatchObject({
      rules: { paths: [['/opt/bin/node', 13]], ports: [] }, limits: { nofile: 256, fsize: 0, core: 0 },
      filter: Buffer.from(seccomp.active ? seccomp.filter : []).toString('base64'),
    })
  })

  it('has no filter without bubblewrap, which would install it', () => {
    expect(commandOf({ rlimits, seccomp })).toEqual(commandOf({ rlimits }))
  })
})
