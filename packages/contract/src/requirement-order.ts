import type { ArgPattern, Grant, RequirementSet, ShellRequirement } from './requirements.ts'
import { ANY_COMMAND, canonicalPattern } from './requirements.ts'
import { matchGlob, globCovers } from './glob.ts'

/** Where one requirement set asks for more than another allows, in words; empty when it lies within. Contract: never throws. */
export function beyond(asked: RequirementSet, allowed: RequirementSet): readonly string[] {
  const outside = (kind: string, list: readonly string[] = [], within: readonly string[] = [], covers: (wide: string, narrow: string) => boolean) =>
    list.filter((item) => !within.some((wide) => covers(wide, item))).map((item) => `${kind}: ${item}`)
  return [
    ...outside('fs.read', asked.fs?.read, allowed.fs?.read, patternCovers),
    ...outside('fs.write', asked.fs?.write, allowed.fs?.write, patternCovers),
    ...outside('net', asked.net?.hosts, allowed.net?.hosts, hostCovers),
    ...(asked.shell ?? []).filter((item) => !(allowed.shell ?? []).some((wide) => shellCovers(wide, item))).map((item) => `shell: ${item.cmd}`),
    ...(asked.capabilities ?? []).filter((name) => !(allowed.capabilities ?? []).includes(name)).map((name) => `capability: ${name}`),
  ]
}

/** `src/**` and `{workspace}/src/**` are one pattern. One that cannot be read covers nothing and is covered by nothing. */
function patternCovers(wide: string, narrow: string): boolean {
  try {
    return globCovers(canonicalPattern(wide), canonicalPattern(narrow))
  } catch {
    return false
  }
}

const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^:]+)(?::(\d+))?$/
const DEFAULT_PORTS: ReadonlySet<string> = new Set(['80', '443'])
const IPV4 = /^\d+(?:\.\d+){3}$/

/**
 * `*` covers every name; `*.example.com` every name below example.com but not example.com itself; neither covers an
 * address. Without a port a pattern means the ports of http and https; with one, exactly that. What is not a host with
 * or without a port covers nothing and is covered by nothing.
 */
export function hostCovers(wide: string, narrow: string): boolean {
  const [, wideHost, widePort] = HOST_AND_PORT.exec(wide) ?? []
  const [, narrowHost, narrowPort] = HOST_AND_PORT.exec(narrow) ?? []
  if (wideHost === undefined || narrowHost === undefined) return false
  if (widePort === undefined ? narrowPort !== undefined && !DEFAULT_PORTS.has(narrowPort) : widePort !== narrowPort) return false
  if (wideHost === narrowHost) return true
  if (IPV4.test(narrowHost) || narrowHost.startsWith('[')) return false
  if (wideHost === '*') return true
  return wideHost.startsWith('*.') && narrowHost.endsWith(wideHost.slice(1)) && narrowHost.length > wideHost.length - 1
}

function shellCovers(wide: ShellRequirement, narrow: ShellRequirement): boolean {
  if (wide.cmd !== narrow.cmd && wide.cmd !== ANY_COMMAND) return false
  const [wideArgs, wideOpen] = fixedArguments(wide)
  const [narrowArgs, narrowOpen] = fixedArguments(narrow)
  if (wideOpen ? narrowArgs.length < wideArgs.length : narrowOpen || narrowArgs.length !== wideArgs.length) return false
  return wideArgs.every((pattern, index) => argCovers(pattern, narrowArgs[index]!))
}

/** Those of a fixed place, and whether any number may follow them. */
function fixedArguments({ args = [] }: ShellRequirement): readonly [fixed: readonly ArgPattern[], open: boolean] {
  const last = args.at(-1)
  return typeof last === 'object' && 'rest' in last ? [args.slice(0, -1), true] : [args, false]
}

function argCovers(wide: ArgPattern, narrow: ArgPattern): boolean {
  if (typeof wide === 'string') return wide === narrow
  if (!('prefix' in wide)) return true
  if (typeof narrow === 'string') return narrow.startsWith(wide.prefix)
  return 'prefix' in narrow && narrow.prefix.startsWith(wide.prefix)
}

/** What of a grant a ceiling leaves. Anything the ceiling does not cover is gone, never narrowed by guess. */
export function intersectGrant(grant: Grant, ceiling: Grant): Grant {
  const keep = (list: readonly string[], within: readonly string[], covers: (wide: string, narrow: string) => boolean) =>
    list.filter((item) => within.some((wide) => covers(wide, item)))
  const fs = { read: keep(grant.fs.read, ceiling.fs.read, globCovers), write: keep(grant.fs.write, ceiling.fs.write, globCovers) }
  const isEmpty = fs.read.length + fs.write.length === 0
  return {
    fs: isEmpty || grant.fs.roots === undefined ? fs : { ...fs, roots: grant.fs.roots },
    net: { hosts: keep(grant.net.hosts, ceiling.net.hosts, hostCovers) },
    shell: grant.shell.filter((item) => ceiling.shell.some((wide) => shellCovers(wide, item))),
    capabilities: grant.capabilities.filter((name) => ceiling.capabilities.includes(name)),
  }
}

export const hostMatches = (patterns: readonly string[], host: string): boolean => patterns.some((pattern) => hostCovers(pattern, host))
export const pathMatches = (patterns: readonly string[], path: string): boolean => patterns.some((pattern) => matchGlob(pattern, path))
