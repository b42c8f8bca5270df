import { html } from '../../text/html.ts'
import type { ServiceProvider } from './service-provider.ts'

const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'

/**
 * The metadata that an administrator gives to the identity provider, as XML. Without a `subjectAttribute` it asks for a persistent
 * NameID.
 */
export const serviceProviderMetadata = (
  { entityId, acsUrl }: ServiceProvider,
  subjectAttribute: string | null,
): string =>
  html`<?xml version="1.0" encoding="UTF-8"?>
<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">
  <SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" AuthnRequestsSigned="false" WantAssertionsSigned="true">
${subjectAttribute === null ? html`    <NameIDFormat>${persistent}</NameIDFormat>\n` : null}    <AssertionConsumerService index="1" isDefault="true" Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${acsUrl}"/>
  </SPSSODescriptor>
</EntityDescriptor>
`.source
