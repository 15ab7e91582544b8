import { describe, expect, it } from 'vitest'
import { installEnvironment, scriptEnvironment } from '../../../scripts/boot/environment.mjs'

describe('of what npm adds to the environment', () => {
  const given = {
    PATH: '/usr/bin',
    INIT_CWD: '/somewhere',
    npm_config_registry: 'https://mirror.example/',
    npm_config_noproxy: '',
    npm_config_https_proxy: 'http://proxy.example:1',
    npm_config_prefix: '/usr',
    npm_config_loglevel: 'silent',
    npm_config_user_agent: 'npm/11',
    npm_lifecycle_event: 'start',
    npm_package_json: '/somewhere/package.json',
  }

  it('a package manager sees how to reach the registry, in its own words, and nothing else', () => {
    const seen = installEnvironment(given)
    expect(seen).toMatchObject({
      PATH: '/usr/bin',
      npm_config_registry: 'https://mirror.example/',
      pnpm_config_registry: 'https://mirror.example/',
      pnpm_config_https_proxy: 'http://proxy.example:1',
    })
    for (const name of ['INIT_CWD', 'npm_config_prefix', 'npm_config_loglevel', 'npm_lifecycle_event', 'npm_package_json']) {
      expect(seen).not.toHaveProperty(name)
    }
    expect(seen).not.toHaveProperty('pnpm_config_no_proxy')
  })

  it('what a person set for pnpm itself stays', () => {
    const own = { pnpm_config_registry: 'https://own.example/', npm_config_fetch_retries: '0' }
    expect(installEnvironment({ ...given, ...own })).toMatchObject({ ...own, pnpm_config_fetch_retries: '0' })
  })

  it('a script sees the workspace’s tools first, and no telemetry is sent', () => {
    const seen = scriptEnvironment(given, ['/a/.bin', '/b/.bin'])
    expect(seen).toMatchObject({ PATH: '/a/.bin:/b/.bin:/usr/bin', TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' })
    expect(seen).not.toHaveProperty('npm_lifecycle_event')
  })
})
