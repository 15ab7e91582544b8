import { isAbsolute, resolve } from 'node:path'
import {
  allowsNeed, compileGrant, type CallNeed, type CapabilityName, type CapabilityUse, type RequirementSet,
} from '@bulkhead/contract'
import { variablesIn } from './target.ts'

/** The parts of `runtime` that a manifest lists as capabilities. */
export const PARTS = { 'interact': 'interact', 'tools.call': 'tools', 'session': 'session' } as const

/** What a use needs to be allowed; undefined for parts that have no patterns. */
function needOf({ part, subject }: CapabilityUse, workspace: string): CallNeed | undefined {
  switch (part) {
    case 'fs.read':
    case 'fs.write':
      return { kind: part, subject: isAbsolute(subject) ? subject : resolve(workspace, subject), below: true }
    case 'net': {
      const url = URL.parse(subject.slice(subject.indexOf(' ') + 1))
      const port = url?.port || (url?.protocol === 'http:' ? '80' : '443')
      return url ? { kind: 'net', subject: `${url.hostname}:${port}` } : undefined
    }
    case 'shell': {
      const [cmd = '', ...args] = subject.split(' ')
      return { kind: 'shell', subject: cmd, args }
    }
    default:
      return undefined
  }
}

/** Whether requirements cover a use. */
export function covers(requires: RequirementSet, use: CapabilityUse, workspace: string): boolean {
  const need = needOf(use, workspace)
  if (need !== undefined) return allowsNeed(compileGrant(requires, variablesIn(workspace)), need)
  const named = (Object.keys(PARTS) as CapabilityName[]).find((name) => PARTS[name] === use.part)
  return named === undefined || requires.capabilities?.includes(named) === true
}
