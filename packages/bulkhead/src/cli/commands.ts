import type { Command } from './command.ts'

/** Every command there is. Each is loaded when it is wanted, and with it what it needs. */
export const COMMANDS: ReadonlyMap<string, { readonly summary: string; load(): Promise<Command> }> = new Map([
  ['tools', { summary: 'lists the tools of this folder, where they come from and what they may do', load: async () => (await import('./tools.ts')).tools }],
  ['explain', { summary: 'says what would become of a call, who decides it, and what would change that', load: async () => (await import('./explain.ts')).explain }],
  ['approvals', { summary: 'lists and revokes what people approved of for longer than one call', load: async () => (await import('./approvals.ts')).approvals }],
  ['audit', { summary: 'shows what was decided and done, and verifies that no record was changed', load: async () => (await import('./audit.ts')).audit }],
  ['trust', { summary: 'shows what a project brings and asks whether to trust it; --status only shows', load: async () => (await import('./trust.ts')).trust }],
  ['call', { summary: 'calls one tool and prints its outcome', load: async () => (await import('./call.ts')).call }],
  ['mcp', { summary: 'lets an MCP client use the tools of this folder, each call under the guard', load: async () => (await import('./mcp.ts')).mcp }],
  ['reload', { summary: 'tries out what a running host would take over: proves, starts and stops each extension', load: async () => (await import('./reload.ts')).reload }],
  ['install', { summary: 'installs a folder, a tarball or an npm package, after showing what it is and may do', load: async () => (await import('./install.ts')).install }],
  ['uninstall', { summary: 'takes an installed extension away', load: async () => (await import('./uninstall.ts')).uninstall }],
  ['update', { summary: 'brings what came from a registry up to date, and says what each update changes', load: async () => (await import('./update.ts')).update }],
  ['outdated', { summary: 'lists what a registry has later versions of', load: async () => (await import('./outdated.ts')).outdated }],
  ['verify', { summary: 'proves a folder, a tarball, or everything that is installed', load: async () => (await import('./verify.ts')).verify }],
  ['trust-root', { summary: 'shows, refreshes or replaces the authorities that signatures are compared with', load: async () => (await import('./trust-root.ts')).trustRoot }],
  ['new', { summary: 'writes an extension to begin with: a manifest and a module', load: async () => (await import('./new.ts')).newExtension }],
  ['check', { summary: 'holds the folder of an extension against what is asked of every one', load: async () => (await import('./check.ts')).check }],
  ['pack', { summary: 'makes a package of a folder, with its integrity file', load: async () => (await import('./pack.ts')).pack }],
])
