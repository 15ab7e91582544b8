/** A capability that makes ordinary globals or modules work. */
export type ShimCapability = 'fs' | 'net' | 'shell' | 'env'

/**
 * Builtin modules of our own, each in its file in `shims`. Those without capabilities exist in every compartment: they
 * give no access. The others exist, over `runtime`, where one of the capabilities is declared; to use one still needs
 * the first. Libraries that run commands also look at folders, and those that call services look for files and commands
 * with credentials.
 */
export const SHIM_MODULES: ReadonlyMap<string, readonly ShimCapability[]> = new Map<string, readonly ShimCapability[]>([
  ['fs', ['fs', 'shell', 'net']], ['fs/promises', ['fs', 'shell', 'net']], ['child_process', ['shell', 'net']],
  ...['http', 'https', 'http2', 'net', 'tls', 'dns', 'dns/promises'].map((name) => [name, ['net']] as const),
  ['worker_threads', ['net', 'shell']], ['v8', ['shell']],
  ...[
    'async_hooks', 'constants', 'crypto', 'diagnostics_channel', 'os', 'perf_hooks', 'process', 'stream/consumers',
    'stream/web', 'tty', 'zlib',
  ].map((name) => [name, []] as const),
])

/** Shims that pass bytes and numbers to Node's module. They are made before the code of the extension runs. */
export const NATIVE_MODULES = ['crypto', 'zlib'] as const
export type NativeModule = (typeof NATIVE_MODULES)[number]
export const isNative = (name: string): name is NativeModule => (NATIVE_MODULES as readonly string[]).includes(name)
