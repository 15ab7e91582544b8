import type { CapabilityName, RequirementSet, SecretManifest, ToolListing } from '@bulkhead/contract'

const CAPABILITY_WORDS: Readonly<Record<CapabilityName, string>> = {
  interact: 'asks the person', 'tools.call': 'calls other tools', session: 'keeps notes for the session',
}

/** Of a local MCP server: it is a process of the user, and no capability bounds it. */
export const UNCONFINED = 'not confined: it can do everything your account can'

/** What a tool may touch, in a few words for a table. */
export const requirementWords = (requires: RequirementSet): string => requirements(requires).join(', ') || 'nothing'

/** All that a tool may do, with what its extension was given besides. */
export const powersOf = ({ requires, env, secrets }: Pick<ToolListing, 'requires' | 'env' | 'secrets'>): readonly string[] =>
  [...requirements(requires), ...env.map((name) => `reads ${variableWords(name)}`), ...secrets.map((secret) => `uses ${secretWords(secret)}`)]

export const variableWords = (name: string): string => `the variable ${name}`

export const secretWords = ({ name, hosts = [], commands = [] }: SecretManifest): string => `the secret ${name} for ${[...hosts, ...commands].join(', ')}`

const requirements = ({ fs, net, shell = [], capabilities = [] }: RequirementSet): readonly string[] => [
  ...(fs?.read ?? []).map((pattern) => `reads ${pattern}`),
  ...(fs?.write ?? []).map((pattern) => `writes ${pattern}`),
  ...(net?.hosts ?? []).map((host) => `reaches ${host}`),
  ...shell.map(({ cmd }) => `runs ${cmd}`),
  ...capabilities.map((name) => CAPABILITY_WORDS[name]),
]
