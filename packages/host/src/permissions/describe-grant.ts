import { intersectGrant, type ArgPattern, type CapabilityName, type Grant, type ShellRequirement } from '@bulkhead/contract'

const CAPABILITY_WORDS: Readonly<Record<CapabilityName, string>> = {
  interact: 'ask questions of the person', 'tools.call': 'call other tools', session: 'keep notes for this session',
}

/** A grant for people, one line for each thing in it. */
export function describeGrant(grant: Grant): readonly string[] {
  return [
    ...grant.fs.read.map((path) => `read ${path}`),
    ...grant.fs.write.map((path) => `write ${path}`),
    ...grant.net.hosts.map((host) => `reach ${host}`),
    ...grant.shell.map((command) => `run ${commandLine(command)}`),
    ...grant.capabilities.map((name) => CAPABILITY_WORDS[name]),
  ]
}

/** A command as a pattern: `*` stands for what is left open. */
export function commandLine({ cmd, args = [] }: ShellRequirement): string {
  return [cmd, ...args.map(argumentText)].join(' ')
}

function argumentText(arg: ArgPattern): string {
  if (typeof arg === 'string') return arg
  return 'prefix' in arg ? `${arg.prefix}*` : 'rest' in arg ? '…' : '*'
}

/** What of a grant lies outside another, one line for each. Compared as grants: two things may read alike. */
export function outside(grant: Grant, ceiling: Grant): readonly string[] {
  const within = intersectGrant(grant, ceiling)
  const gone = <Item>(list: readonly Item[], kept: readonly Item[]) => list.filter((item) => !kept.includes(item))
  return describeGrant({
    fs: { read: gone(grant.fs.read, within.fs.read), write: gone(grant.fs.write, within.fs.write) },
    net: { hosts: gone(grant.net.hosts, within.net.hosts) },
    shell: gone(grant.shell, within.shell),
    capabilities: gone(grant.capabilities, within.capabilities),
  })
}
