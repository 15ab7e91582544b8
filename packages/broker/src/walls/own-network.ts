import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { succeeds } from '@bulkhead/kit/processes'
import { PROGRAM_FOLDERS } from '@bulkhead/kit/programs'
import { PASS_CONNECTIONS } from './relay-script.ts'

/** Where the relay listens. The network is new, so it is free. */
const PORT = 3128
export const RELAY_URL = `http://127.0.0.1:${PORT}`

/**
 * Runs in a network of its own, in front of the launcher, because a program behind the launcher reaches no socket by
 * path. It brings the loopback interface up, and passes connections to the socket of the host's relay, which decides.
 * It reads nothing of the program but these connections.
 */
const SCRIPT = `
const { dlopen, getRawPointer } = process.getBuiltinModule('node:ffi')
const [path, kept, program, ...args] = process.argv.slice(1)
const { functions: c } = dlopen(null, {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  ioctl: { arguments: ['i32', 'u64', 'pointer'], return: 'i32' },
  prctl: { arguments: ['i32', 'u64', 'u64', 'u64', 'u64'], return: 'i32' },
})
const [AF_INET, SOCK_DGRAM, SIOCSIFFLAGS, IFF_UP, PR_SET_PDEATHSIG, SIGKILL] = [2, 2, 0x8914n, 1, 1, 9n]
const request = Buffer.alloc(40)
request.write('lo')
request.writeInt16LE(IFF_UP, 16)
if (c.ioctl(c.socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, getRawPointer(request)) !== 0) process.exit(125)
c.prctl(PR_SET_PDEATHSIG, SIGKILL, 0n, 0n, 0n)
${PASS_CONNECTIONS}
server.listen(${PORT}, '127.0.0.1', () => run({}))`

/** How a program gets a network of its own here. */
export type OwnNetwork = (
  /** The socket of the host's relay. */
  relay: string,
  /** The descriptors that the command gets. */
  descriptors: readonly number[],
  command: readonly string[],
) => readonly string[]

let tried: Promise<OwnNetwork | undefined> | undefined

/** Tried once per process, by `unshare`. undefined where it does not work. Rejects during a shortage of resources. */
export function ownNetwork(): Promise<OwnNetwork | undefined> {
  tried ??= find().catch((error: unknown) => {
    tried = undefined
    throw error
  })
  return tried
}

async function find(): Promise<OwnNetwork | undefined> {
  const [unshare, trial] = ['unshare', 'true'].map((name) =>
    PROGRAM_FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path)))
  if (process.platform !== 'linux' || unshare === undefined || trial === undefined) return undefined
  const isRoot = process.getuid?.() === 0
  // As root of a namespace of its own, another user may make one of a network.
  for (const options of [...(isRoot ? [['--net']] : []), ['--user', '--map-root-user', '--net']]) {
    const network: OwnNetwork = (relay, descriptors, command) => [
      unshare, ...options, '--', process.execPath, '--disable-warning=ExperimentalWarning', '--eval', SCRIPT, '--', relay,
      descriptors.join(), ...command,
    ]
    if (await succeeds(network('/nowhere', [0, 1, 2], [trial]))) return network
  }
  return undefined
}
