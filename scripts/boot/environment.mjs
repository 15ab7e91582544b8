import { delimiter } from 'node:path'

// What a person configured about reaching the registry. Everything else that npm adds to a script's environment describes
// that npm process (its prefix, its package, its own flags) and would mislead the package managers started from here.
const KEPT = new RegExp(
  '^npm_config_(registry|userconfig|globalconfig|cache|proxy|https_proxy|noproxy|ca|cafile|cert|key|strict_ssl|local_address' +
    '|fetch_\\w+|//.*|@.*:registry)$',
  'i',
)

// pnpm reads `.npmrc` files and the path to them, but of the variables only its own.
const PNPM_NAMES = new Map([
  ['registry', 'registry'],
  ['proxy', 'http_proxy'],
  ['https_proxy', 'https_proxy'],
  ['noproxy', 'no_proxy'],
  ['cafile', 'cafile'],
  ['strict_ssl', 'strict_ssl'],
  ['fetch_retries', 'fetch_retries'],
  ['fetch_retry_factor', 'fetch_retry_factor'],
  ['fetch_retry_mintimeout', 'fetch_retry_mintimeout'],
  ['fetch_retry_maxtimeout', 'fetch_retry_maxtimeout'],
  ['fetch_timeout', 'fetch_timeout'],
])

// Both package managers wait 10 s and then 60 s by default, pnpm for each of hundreds of packages: without a network that is
// many minutes before the first word of explanation.
const PATIENCE = { fetch_retries: '2', fetch_retry_factor: '3', fetch_retry_mintimeout: '400', fetch_retry_maxtimeout: '5000' }

/**
 * The caller's environment without what npm added for itself.
 * @param {NodeJS.ProcessEnv} environment
 * @returns {NodeJS.ProcessEnv}
 */
function withoutNpm(environment) {
  const kept = Object.entries(environment).filter(
    ([name]) => (!/^npm_/i.test(name) || KEPT.test(name)) && name !== 'INIT_CWD' && name !== 'NODE',
  )
  return Object.fromEntries(kept)
}

/**
 * For npm and pnpm while they fetch.
 * @param {NodeJS.ProcessEnv} environment
 * @returns {NodeJS.ProcessEnv}
 */
export function installEnvironment(environment) {
  const result = withoutNpm(environment)
  const present = new Set(Object.keys(result).map((name) => name.toLowerCase()))
  for (const [key, value] of Object.entries(PATIENCE)) {
    if (!present.has(`npm_config_${key}`)) result[`npm_config_${key}`] = value
  }
  for (const [name, value] of Object.entries(result)) {
    const pnpmName = PNPM_NAMES.get(name.toLowerCase().replace(/^npm_config_/, ''))
    if (!/^npm_config_/i.test(name) || !pnpmName || !value) continue
    if (!present.has(`pnpm_config_${pnpmName}`)) result[`pnpm_config_${pnpmName}`] = value
  }
  return { ...result, npm_config_update_notifier: 'false', pnpm_config_update_notifier: 'false' }
}

/**
 * For a script of the root package.json: the workspace's own tools come first.
 * @param {NodeJS.ProcessEnv} environment
 * @param {readonly string[]} folders
 * @returns {NodeJS.ProcessEnv}
 */
export function scriptEnvironment(environment, folders) {
  const result = withoutNpm(environment)
  const path = [...folders, result['PATH']].filter(Boolean).join(delimiter)
  return { ...result, PATH: path, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' }
}
