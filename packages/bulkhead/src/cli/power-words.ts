import type { PowerCapability, PowerItem } from '@bulkhead/contract'

const CAPABILITY_WORDS: Readonly<Record<PowerCapability, string>> = {
  interact: 'asks the person', 'tools.call': 'calls other tools', session: 'keeps notes for the session', subagents: 'starts sub-agents',
}

/** A local MCP server runs as a process of the user, without a sandbox. */
export const UNCONFINED = 'not confined: it can do everything your account can'

const WORDS: Readonly<Record<PowerItem['kind'], (subject: string) => string>> = {
  'fs.read': (pattern) => `reads ${pattern}`,
  'fs.write': (pattern) => `writes ${pattern}`,
  net: (host) => `reaches ${host}`,
  shell: (command) => `runs ${command}`,
  capability: (name) => CAPABILITY_WORDS[name as PowerCapability],
  env: (name) => `reads the variable ${name}`,
  secret: (use) => `uses the secret ${use.replace(' to ', ' for ')}`,
  state: () => 'keeps state',
}

/** Permissions in short phrases, for a table. */
export const powerWords = (items: readonly PowerItem[]): readonly string[] =>
  items.map(({ kind, subject }) => WORDS[kind](subject))
