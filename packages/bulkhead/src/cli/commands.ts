import type { Command } from './command.ts'

/** All commands. Each module is imported on first use. */
export const COMMANDS: ReadonlyMap<string, { readonly summary: string; load(): Promise<Command> }> = new Map([
  ['tools', { summary: 'List the tools of this folder, their origin and their permissions', load: async () => (await import('./tools.ts')).tools }],
  ['explain', { summary: 'Show whether a call would be allowed, which rule decides, and how to change it', load: async () => (await import('./explain.ts')).explain }],
  ['approvals', { summary: 'List, show and revoke stored approvals', load: async () => (await import('./approvals.ts')).approvals }],
  ['audit', { summary: 'Show, verify, export and archive the audit log', load: async () => (await import('./audit.ts')).audit }],
  ['trust', { summary: 'Review the tools and settings of a project, then trust or decline them', load: async () => (await import('./trust.ts')).trust }],
  ['call', { summary: 'Call one tool and print the result', load: async () => (await import('./call.ts')).call }],
  ['mcp', { summary: 'Serve the tools of this folder to an MCP client', load: async () => (await import('./mcp.ts')).mcp }],
  ['reload', { summary: 'Test whether each extension loads, starts and stops', load: async () => (await import('./reload.ts')).reload }],
  ['install', { summary: 'Install a folder, a tarball or an npm package, after a review', load: async () => (await import('./install.ts')).install }],
  ['uninstall', { summary: 'Uninstall an extension', load: async () => (await import('./uninstall.ts')).uninstall }],
  ['update', { summary: 'Update extensions from a registry, and show what each update changes', load: async () => (await import('./update.ts')).update }],
  ['outdated', { summary: 'List extensions with a newer version in the registry', load: async () => (await import('./outdated.ts')).outdated }],
  ['verify', { summary: 'Verify the integrity of a folder, a tarball, or all installed extensions', load: async () => (await import('./verify.ts')).verify }],
  ['trust-root', { summary: 'Show, refresh or replace the trust root for signatures', load: async () => (await import('./trust-root.ts')).trustRoot }],
  ['new', { summary: 'Create a new extension: a manifest and a module', load: async () => (await import('./new.ts')).newExtension }],
  ['check', { summary: 'Check an extension against the conformance requirements', load: async () => (await import('./check.ts')).check }],
  ['pack', { summary: 'Pack a folder into a tarball with an integrity file', load: async () => (await import('./pack.ts')).pack }],
])
