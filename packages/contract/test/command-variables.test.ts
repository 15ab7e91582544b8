import { expect, it } from 'vitest'
import {
  isCertificateVariable, isProxyVariable, isUsualVariable, refusedVariable,
} from '../src/model/command-variables.ts'

it('knows the variables for proxies, certificates and language', () => {
  const proxies = [
    'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'no_proxy', 'all_proxy',
  ]
  const certificates = ['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE']
  const language = ['LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'TZ']
  expect([...proxies, ...certificates, ...language].filter((name) => !isUsualVariable(name))).toEqual([])
  expect([...proxies, ...language].filter(isCertificateVariable)).toEqual([])
  expect([...certificates, ...language].filter(isProxyVariable)).toEqual([])
  expect(['PROXY', 'MY_HTTP_PROXY', 'AWS_SECRET_ACCESS_KEY', 'SSLKEYLOGFILE', 'LC_'].filter(isUsualVariable)).toEqual(
    [],
  )
})

it.each([
  'PATH', 'HOME', 'BULKHEAD_RUN', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'NODE_OPTIONS', 'NODE_PATH',
  'PYTHONPATH', 'PYTHONSTARTUP', 'GIT_SSH_COMMAND', 'GIT_CONFIG_COUNT', 'BASH_ENV', 'BASH_FUNC_x', 'ENV', 'SHELLOPTS',
  'PS4', 'IFS', 'PROMPT_COMMAND', 'PERL5OPT', 'PERL5LIB', 'RUBYOPT', 'JAVA_TOOL_OPTIONS', 'GCONV_PATH', 'PAGER',
  'MANPAGER', 'EDITOR', 'SSH_ASKPASS', 'npm_config_node_options', 'NPM_CONFIG_SCRIPT_SHELL',
])('refuses %s, and says why', (name) => {
  expect(refusedVariable(name)).toContain(name)
  expect(isUsualVariable(name)).toBe(false)
})

it.each(['JAVA_HOME', 'GOPROXY', 'NPM_CONFIG_REGISTRY', 'CI', 'HTTPS_PROXY', 'SSL_CERT_FILE', 'LANG', 'MY_PATH'])(
  'leaves %s to the user',
  (name) => {
    expect(refusedVariable(name)).toBeUndefined()
  },
)
