import type { Grant } from '@bulkhead/contract'

/** A grant for people, one line for each thing in it. */
export function describeGrant(grant: Grant): readonly string[] {
  return [
    ...grant.fs.read.map((path) => `read ${path}`),
    ...grant.fs.write.map((path) => `write ${path}`),
    ...grant.net.hosts.map((host) => `reach ${host}`),
    ...grant.shell.map(({ cmd, args = [] }) => `run ${[cmd, ...args.map((arg) => typeof arg === 'string' ? arg : 'prefix' in arg ? `${arg.prefix}…` : '…')].join(' ')}`),
    ...grant.capabilities.map((name) => `use ${name}`),
  ]
}
