import type { RequirementSet } from '@bulkhead/contract'

/** What a tool may touch, in a few words for a table. */
export function requirementWords(requires: RequirementSet): string {
  const words = [
    ...(requires.fs?.read ?? []).map((pattern) => `reads ${pattern}`),
    ...(requires.fs?.write ?? []).map((pattern) => `writes ${pattern}`),
    ...(requires.net?.hosts ?? []).map((host) => `reaches ${host}`),
    ...(requires.shell ?? []).map(({ cmd }) => `runs ${cmd}`),
    ...(requires.capabilities ?? []),
  ]
  return words.length === 0 ? 'nothing' : words.join(', ')
}
