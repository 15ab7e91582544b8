const REGISTRY_SETTINGS =
  /^npm_config_(registry|userconfig|globalconfig|cache|.*proxy|ca|cafile|cert|key|strict_ssl|fetch_.*|.*:.*)$/i
const PNPM_SETTINGS = /^npm_config_(registry|.*proxy|cafile|strict_ssl|fetch_.*)$/i

// By default npm and pnpm wait for minutes before they report that there is no network.
const RETRIES = { npm_config_fetch_retries: '2', npm_config_fetch_retry_mintimeout: '400', npm_config_fetch_retry_factor: '3' }

/**
 * The environment for package managers and scripts. What npm added describes that npm process, so only the settings for
 * reaching the registry are kept. They are repeated for pnpm, which reads variables with its own prefix only.
 * @param {NodeJS.ProcessEnv} given
 * @returns {NodeJS.ProcessEnv}
 */
export function cleanEnvironment(given) {
  const own = Object.entries(given).filter(([name]) =>
    !/^(npm_.*|INIT_CWD|NODE)$/i.test(name) || REGISTRY_SETTINGS.test(name))
  const shared = [...Object.entries(RETRIES), ...own].filter(([name, value]) => value && PNPM_SETTINGS.test(name))
  const renamed = (name = '') => name.toLowerCase().replace('g_proxy', 'g_http_proxy').replace('noproxy', 'no_proxy')
  const forPnpm = shared.map(([name, value]) => [`p${renamed(name)}`, value])
  return { ...RETRIES, ...Object.fromEntries([...forPnpm, ...own]) }
}
