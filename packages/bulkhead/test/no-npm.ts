/** Variables without npm's configuration of this machine. Nothing answers at this registry. */
export const NO_NPM = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_globalconfig: '/dev/null' } as const
