import type { CapabilityName, RequirementSet } from '@bulkhead/contract'

const CAPABILITY_WORDS: Readonly<Record<CapabilityName, string>> = {
  interact: 'asks the person', 'tools.call': 'calls other tools', session: 'keeps notes for the session',
}

/** What a tool may touch, in a few words for a table. */
export function requirementWords(requires: RequirementSet): string {
  const words = [
    ...(requires.fs?.read ?? []).map((pattern) => `reads ${pattern}`),
    ...(requires.fs?.write ?? []).map((pattern) => `writes ${pattern}`),
    ...(requires.net?.hosts ?? []).map((host) => `reaches ${host}`),
    ...(requires.shell ?? []).map(({ cmd }) => `runs ${cmd}`),
    ...(requires.capabilities ?? []).map((name) => CAPABILITY_WORDS[name]),
  ]
  return words.length === 0 ? 'nothing' : words.join(', ')
}
