import { constants } from './constants.ts'
import { shimModule, type ShimHost } from './host.ts'

/** `node:os` of no machine: every answer is a constant, except the platform, which `process` tells too. */
export function osModule(host: ShimHost): object {
  const { platform, arch } = process
  const name = platform === 'win32' ? 'Windows_NT' : platform === 'darwin' ? 'Darwin' : 'Linux'
  const cpu = (): object => ({ model: 'compartment', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } })
  const user = (): object => ({ uid: -1, gid: -1, username: 'tool', homedir: HOME, shell: null })
  return shimModule(host, 'os', {
    EOL: platform === 'win32' ? '\r\n' : '\n',
    devNull: '/dev/null',
    constants: Object.freeze({ signals: constants.signals, errno: constants.errno, priority: Object.freeze({}) }),
    arch: () => arch,
    availableParallelism: () => 1,
    cpus: () => [cpu()],
    endianness: () => 'LE',
    freemem: () => MEMORY_BYTES,
    getPriority: () => 0,
    homedir: () => HOME,
    hostname: () => 'compartment',
    loadavg: () => [0, 0, 0],
    machine: () => arch === 'x64' ? 'x86_64' : arch,
    networkInterfaces: () => ({}),
    platform: () => platform,
    release: () => '0.0.0',
    tmpdir: () => '/tmp',
    totalmem: () => MEMORY_BYTES,
    type: () => name,
    uptime: () => 0,
    userInfo: user,
    version: () => name,
  }, ['setPriority'])
}

const HOME = '/home/tool'
const MEMORY_BYTES = 512 * 1024 * 1024
