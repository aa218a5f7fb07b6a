// An identity provider: whoever signs in as NAME is NAME, with the verified address NAME@example.org.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import Provider from 'oidc-provider'

const [certificate, key, port, redirect, secret] = process.argv.slice(2)
const issuer = `https://localhost:${port}`
const provider = new Provider(issuer, {
  clients: [{ client_id: 'console', client_secret: secret, redirect_uris: [redirect], token_endpoint_auth_method: 'client_secret_basic' }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  conformIdTokenClaims: false, // the token itself says the address
  pkce: { required: () => true },
  cookies: { keys: ['of-a-test'] },
  findAccount: (_, name) => ({
    accountId: name,
    claims: () => ({ sub: name, email: `${name}@example.org`, email_verified: !name.startsWith('unverified'), name: `${name} of Example` }),
  }),
})
createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, provider.callback()).listen(Number(port), '127.0.0.1', () => console.log('listening'))
