import { expect, it } from 'vitest'
import { cleanEnvironment } from '../../../scripts/boot/environment.mjs'

const GIVEN = {
  PATH: '/usr/bin',
  INIT_CWD: '/somewhere',
  npm_config_registry: 'https://mirror.example/',
  npm_config_noproxy: '',
  npm_config_proxy: 'http://proxy.example:1',
  npm_config_https_proxy: 'http://proxy.example:2',
  npm_config_prefix: '/usr',
  npm_config_loglevel: 'silent',
  npm_config_allow_scripts: '',
  npm_lifecycle_event: 'start',
}

it('keeps the registry settings that npm passes on, and repeats them for pnpm', () => {
  expect(cleanEnvironment(GIVEN)).toEqual({
    PATH: '/usr/bin',
    npm_config_registry: 'https://mirror.example/',
    npm_config_noproxy: '',
    npm_config_proxy: 'http://proxy.example:1',
    npm_config_https_proxy: 'http://proxy.example:2',
    npm_config_fetch_retries: '2',
    npm_config_fetch_retry_mintimeout: '400',
    npm_config_fetch_retry_factor: '3',
    pnpm_config_registry: 'https://mirror.example/',
    pnpm_config_http_proxy: 'http://proxy.example:1',
    pnpm_config_https_proxy: 'http://proxy.example:2',
    pnpm_config_fetch_retries: '2',
    pnpm_config_fetch_retry_mintimeout: '400',
    pnpm_config_fetch_retry_factor: '3',
  })
})

it('does not override the user’s own settings', () => {
  const own = { pnpm_config_registry: 'https://own.example/', npm_config_fetch_retries: '0' }
  expect(cleanEnvironment({ ...GIVEN, ...own })).toMatchObject({ ...own, pnpm_config_fetch_retries: '0' })
})
